"""Serve a warehouse to an assistant."""

import importlib.util
from pathlib import Path
from typing import Annotated

import typer

from scalelens.cli.options import WAREHOUSE, QueryFolders, WarehouseOption
from scalelens.errors import UserError

PANEL = "Ask"


def mcp(
    warehouse: WarehouseOption = WAREHOUSE,
    root: Annotated[
        Path | None, typer.Option("--root", help="Folder below which files may be read: identify, ingest, verify.")
    ] = None,
    write: Annotated[
        bool, typer.Option("--write", help="Let the assistant read new files into the warehouse.")
    ] = False,
    folders: QueryFolders = None,
) -> None:
    """Serve a warehouse to an assistant, by the Model Context Protocol over standard input and output.

    The assistant asks named questions and SQL, sees lines of files, charts and doubts, and holds its own answer against
    the warehouse.  It reads only; with --write it may ingest files below --root.  Nothing opens a network.

    Your assistant starts this command: docs/assistants.md shows how.  It needs pip install 'scalelens[mcp]'.

    Examples:

    scalelens mcp -w study

    scalelens mcp -w study --root logs --write
    """
    from scalelens.warehouse.log import Warehouse

    if root is not None and not root.is_dir():
        raise UserError(f"no such folder: {root}", "pass the folder of the logs with --root")
    if write and root is None:
        raise UserError("--write needs a folder to read from", "name it: --root logs")
    if not write and not Warehouse(warehouse).exists():
        raise UserError(f"there is no warehouse at {warehouse}", "make one: scalelens ingest logs/")
    if importlib.util.find_spec("mcp") is None:
        raise UserError("this needs the package mcp", "pip install 'scalelens[mcp]'")
    from scalelens.assistant.worker import Settings, Worker

    own_queries = [str(folder.resolve()) for folder in folders or ()]
    settings = Settings(str(warehouse), str(root.resolve()) if root else None, write, own_queries)
    worker = Worker(settings)  # opens the warehouse while the protocol is loaded
    try:
        from scalelens.assistant.server import serve

        serve(settings, worker)
    finally:
        worker.close()
