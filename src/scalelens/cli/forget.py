"""Take files or runs out of the warehouse."""

from pathlib import Path
from typing import Annotated

import typer

from scalelens.cli.options import WAREHOUSE, WarehouseOption
from scalelens.cli.output import errors
from scalelens.errors import UserError

PANEL = "Read"


def forget(
    paths: Annotated[list[str], typer.Argument(help="Files, folders or run ids.")],
    warehouse: WarehouseOption = WAREHOUSE,
) -> None:
    """Take files or runs out of the warehouse.  The files themselves are not touched.

    Examples:  scalelens forget logs/bad.out      scalelens forget 3f9a0c1d2e4b
    """
    from scalelens.question.question import Question
    from scalelens.question.session import ask
    from scalelens.warehouse.log import Warehouse

    store = Warehouse(warehouse)
    in_warehouse = store.live().paths
    # A system file belongs to other runs too.
    statement = "SELECT run_id, unnest(paths) FROM members JOIN files USING (file_id) WHERE why <> 'system file'"
    paths_of_runs = ask(warehouse, Question(sql=statement)).frame.rows()
    forgotten: set[str] = set()
    for text in paths:
        given = str(Path(text).resolve())
        matching = {path for path in in_warehouse if path == given or path.startswith((given + "/", given + "!"))}
        matching |= {path for run, path in paths_of_runs if run == text}
        if not matching:
            raise UserError(
                f"nothing in the warehouse is called {text}", 'list paths with: scalelens sql "SELECT path FROM files"'
            )
        forgotten |= matching
    store.forget(sorted(forgotten))
    errors.print(f"{len(forgotten)} files are forgotten")
