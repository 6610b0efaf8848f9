"""Columns whose units are initials, which other columns prove: of `S/s` and `T/s` with a length in `T`.

Throughput (T/s) is the Throughput (S/s) times the SeqLen (T), as where a sample is a text of so many tokens.
"""

from collections.abc import Mapping, Sequence

from scalelens.parsing import lazy_re as re
from scalelens.parsing.values import number
from scalelens.tabular.column_names import read_name
from scalelens.tabular.column_values import ColumnValues
from scalelens.tabular.roles import ColumnReading

_RATE = re.compile(r"(?:[Tt]hroughput|[Ss]peed|[Rr]ate)?[ _]?[\[(]?([ST])/s(?:ec)?[\])]?")
_LENGTH = re.compile(r"(.+?)[ _]?[\[(]T[\])]")
_ROLE = {"S": "samples_per_s", "T": "tokens_per_s"}


def with_initials(readings: Sequence[ColumnReading], columns: Mapping[str, ColumnValues]) -> list[ColumnReading]:
    """The readings, with rates and a length whose initials the first and the last row prove to be right."""
    names = {
        _ROLE[match[1]]: reading.column for reading in readings if (match := _RATE.fullmatch(reading.column.strip()))
    }
    for reading in readings:
        if (match := _LENGTH.fullmatch(reading.column.strip())) and read_name(match[1]).role == "seq_length":
            names["seq_length"] = reading.column
    roles = {column: role for role, column in names.items()}
    if len(names) < 3 or any(reading.role in names for reading in readings) or not _multiply(columns, names):
        return [*readings]
    return [
        reading._replace(role=role, unit=None if role == "seq_length" else "global", refusal=None, choices=())
        if (role := roles.get(reading.column))
        else reading
        for reading in readings
    ]


def _multiply(columns: Mapping[str, ColumnValues], names: Mapping[str, str]) -> bool:
    """Whether the rate of tokens is that of samples times the length, as nearly as the samples are given."""
    samples, tokens, length = (columns[names[role]] for role in ("samples_per_s", "tokens_per_s", "seq_length"))
    if not all(values.is_number and not values.texts for values in (samples, tokens, length)):
        return False
    ends = [
        (samples.last, tokens.last, length.last),
        tuple(number(values.first) or 0.0 for values in (samples, tokens, length)),
    ]
    unit = 10.0**-samples.decimals
    return all(a > 0 and n > 1 and abs(t / n - a) <= unit and unit <= 0.2 * a for a, t, n in ends)
