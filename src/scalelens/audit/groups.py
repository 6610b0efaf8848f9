"""Are the rows that differ a group of their own: another system, model or data set?"""

from collections.abc import Collection

from scalelens.audit.document import TextTable

_MOST_DIFFERENT = 0.7
_AMOUNTS_OF_WORK = ("work", "steps")


def own_group(table: TextTable, apart: Collection[int], agreeing: Collection[int], used: Collection[int]) -> bool:
    """Whether a column outside of `used` sets the rows apart: by a label, or by one number of several rows, that no
    agreeing row has.  Labels that differ in every row are names, which set nothing apart."""
    for column in range(len(table.headings)):
        if column not in used:
            labels = _labels_of(table, column)
            inside, outside = {labels[row] for row in agreeing}, {labels[row] for row in apart}
            is_text = not any(cells[column] for cells in table.cells)
            if is_text and len(set(labels)) <= _MOST_DIFFERENT * len(labels) and not outside <= inside:
                return True
            if not is_text and len(apart) > 1 and len(outside) == 1 and not outside & inside:
                return True
    return False


def other_work(table: TextTable, apart: Collection[int], agreeing: Collection[int]) -> bool:
    """Whether the rows apart may have done other work: more epochs, steps or samples, or under another name."""
    for column, meaning in enumerate(table.meanings):
        labels = _labels_of(table, column)
        is_text = not any(cells[column] for cells in table.cells)
        if (is_text or meaning.kind in _AMOUNTS_OF_WORK) and not {labels[row] for row in apart} <= {
            labels[row] for row in agreeing
        }:
            return True
    return False


def split_rows(rows: list[int], indexes: Collection[int]) -> tuple[list[int], list[int]]:
    """The rows at these indexes of a list, and the others."""
    apart = [rows[k] for k in indexes]
    return apart, [row for row in rows if row not in apart]


def _labels_of(table: TextTable, column: int) -> list[str]:
    """The texts of a column; an empty cell repeats the one above."""
    labels: list[str] = []
    for texts in table.texts:
        labels.append(texts[column] or (labels[-1] if labels else ""))
    return labels
