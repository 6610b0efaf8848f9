"""Tables of a report as HTML, and texts from files made inert."""

import html

from scalelens.inert import visible
from scalelens.report.asking import ReportTable
from scalelens.report.glance import GlanceBlock
from scalelens.report.text.sentences import few_of
from scalelens.report.text.table_columns import TableColumn


def inert(text: str) -> str:
    """A text from a file as HTML: its markup does nothing, and its control characters are visible."""
    return html.escape(visible(text, lines=True))


def table(given: ReportTable, label: str = "Table") -> str:
    """The blocks of an answer, and the number of rows without room.  `label` names a block without a heading."""
    shown = "\n".join(_block(block, label) for block in given.blocks)
    rest = given.n_rows - sum(block.height for block in given.blocks)
    more = f'<p class="remark">{rest:,} more rows are not on this page.</p>' if rest > 0 else ""
    return shown + more


def _block(given: GlanceBlock, label: str) -> str:
    heading = f"<caption>{inert(given.heading)}</caption>" if given.heading else ""
    heads = "".join(
        f'<th scope="col"{_side(column)}><button type="button">{inert(column.header)}</button></th>'
        for column in given.columns
    )
    lines = "\n".join(
        "<tr>"
        + "".join(f"<td{_side(column)}>{inert(text)}</td>" for column, text in zip(given.columns, row, strict=True))
        for row in zip(*(column.texts for column in given.columns), strict=True)
    )
    remarks = "".join(
        f'<p class="remark">{inert(f"{few_of(keys)}: {text}")}</p>' for text, keys in given.remarks.items()
    )
    named = inert(f"{label}: {given.heading}" if given.heading else label)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{named}"><table>{heading}'
        f"<thead><tr>{heads}</tr></thead>\n<tbody>{lines}</tbody></table></div>{remarks}"
    )


def _side(column: TableColumn) -> str:
    return ' class="number"' if column.right else ""
