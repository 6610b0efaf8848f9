"""Write the warehouse into few large segments, and erase what no longer counts."""

from scalelens.cli.options import WAREHOUSE, WarehouseOption
from scalelens.cli.output import errors

PANEL = "Read"


def compact(warehouse: WarehouseOption = WAREHOUSE) -> None:
    """Write the warehouse into few large segments, and erase what no longer counts.

    After forget this erases the rows, the texts and the facts of forgotten files permanently; that a path was forgotten
    is kept.  Others may read and write meanwhile.  The rows of a run stand together, in the order of its ranks: the
    same logs give the same bytes, whoever read them in whatever order.

    Example:  scalelens compact
    """
    from scalelens.runs.stored_order import by_run
    from scalelens.warehouse import compact as compacting

    done = compacting.compact(warehouse, order=by_run)
    errors.print(
        f"{done.segments_before} segments of {done.bytes_before / 1e6:,.1f} MB are now "
        f"{done.segments_after} of {done.bytes_after / 1e6:,.1f} MB"
    )
