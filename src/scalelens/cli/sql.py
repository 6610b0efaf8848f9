"""Ask in SQL."""

from typing import Annotated

import typer

from scalelens.cli.options import (
    WAREHOUSE,
    OutputFormat,
    QueryFolders,
    TableWidth,
    Unsafe,
    WarehouseOption,
    check_table_width,
)
from scalelens.cli.output import WITH_PROVENANCE
from scalelens.cli.pieces import show_pieces

PANEL = "Ask"


def sql(
    statement: Annotated[str, typer.Argument(metavar="SQL", help="A DuckDB statement.")],
    warehouse: WarehouseOption = WAREHOUSE,
    format: OutputFormat = None,
    folders: QueryFolders = None,
    unsafe: Unsafe = False,
    width: TableWidth = None,
) -> None:
    """Ask in SQL.  Tables: scalelens tables; every query is a macro of the same name.

    A statement reads the warehouse, and no other file; it writes nothing and loads nothing.  --unsafe lifts this.

    Examples:

    scalelens sql "FROM runs"

    scalelens sql "SELECT run_id, median(step_s) FROM step_times GROUP BY run_id" --format csv
    """
    from scalelens.question.question import Question
    from scalelens.question.session import ask

    question = Question(sql=statement, unsafe=unsafe)
    check_table_width(width, format)
    if format in WITH_PROVENANCE:
        from scalelens.cli.written import show_with_provenance

        show_with_provenance(warehouse, question, format, at_a_glance=False, folders=tuple(folders or ()), width=width)
        return
    show_pieces(ask(warehouse, question, tuple(folders or ())).pieces, format)
