"""What a Parquet file may cost: a file of a few bytes can state a billion rows, or give each of them one long text."""

import pyarrow as pa
import pyarrow.parquet as pq

from scalelens import arrow_compute as pc
from scalelens.parsing.source import RATIO_FROM

_BYTES_PER_BYTE = 200  # of values, eight bytes each, for one that is stored: real tables take a tenth of it


def most_bytes(size_bytes: int) -> int:
    """Bytes that the values of a file of some size may take."""
    return max(RATIO_FROM, _BYTES_PER_BYTE * size_bytes)


def stated_bytes(about: pq.FileMetaData, columns: int) -> int:
    """What so many columns take in memory by the numbers that the file states."""
    groups = (about.row_group(number) for number in range(about.num_row_groups))
    unpacked = sum(
        group.column(number).total_uncompressed_size for group in groups for number in range(group.num_columns)
    )
    return int(max(8 * about.num_rows * columns, unpacked))


def is_text(kind: pa.DataType) -> bool:
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(inner) or pa.types.is_large_string(inner))


def text_bytes(column: pa.Array) -> int:
    """Bytes of the texts of a column with a dictionary, each as often as it stands there."""
    if not (pa.types.is_dictionary(column.type) and is_text(column.type)):
        return 0
    lengths = pc.binary_length(column.dictionary).take(column.indices)
    return int(pc.sum(lengths).as_py() or 0)
