"""Prints answers that come in pieces, because they may have more rows than memory holds."""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING

from scalelens.cli.output import Format, check_terminal, to_stdout
from scalelens.report.columns import Columns
from scalelens.report.text.csv_text import csv_text
from scalelens.report.text.json_text import json_text

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_LOOKED_AT = 1_000_000  # of an answer for people
PART_ROWS = 20_000  # that become text at once


def is_for_people(format: Format | None) -> bool:
    """Whether rows are printed as a table: where that is asked for, or on a terminal where nothing is."""
    return format is Format.table or (format is None and sys.stdout.isatty())


def show_pieces(pieces: "Iterator[pa.Table]", format: Format | None) -> int:
    """Prints an answer: a table for people, else each piece as it comes, without a format as CSV.

    Returns how many rows the answer has.
    """
    if is_for_people(format):
        from scalelens.cli.terminal_tables import print_table

        rows, n_rows = first_rows_of(pieces)
        to_stdout(lambda: print_table(rows, n_rows))
        return n_rows
    check_terminal(format)
    write = {Format.parquet: _write_parquet, Format.json: _write_json}.get(format or Format.csv, _write_csv)
    lengths: list[int] = []
    to_stdout(lambda: lengths.extend(write(pieces)))
    return sum(lengths)


def first_rows_of(pieces: "Iterator[pa.Table]") -> tuple[Columns, int]:
    """As many rows as are looked at for people, and how many there are."""
    import pyarrow as pa

    held: list[pa.Table] = []
    n_rows = 0
    for piece in pieces:
        if not held or n_rows < ROWS_LOOKED_AT:
            held.append(piece)
        n_rows += piece.num_rows
    return Columns(pa.concat_tables(held)), n_rows


def _in_parts(pieces: "Iterator[pa.Table]") -> "Iterator[pa.Table]":
    """Pieces of which none is long: as text, rows take many times the memory that they take in Arrow."""
    for piece in pieces:
        if piece.num_rows <= PART_ROWS:  # also one without columns, of which a slice has rows
            yield piece
            continue
        for begin in range(0, piece.num_rows, PART_ROWS):
            yield piece.slice(begin, PART_ROWS)


def _write_csv(pieces: "Iterator[pa.Table]") -> Iterator[int]:
    """Writes pieces to stdout, and gives the number of rows of each."""
    for number, piece in enumerate(_in_parts(pieces)):
        sys.stdout.write(csv_text(piece, header=not number))
        yield piece.num_rows


def _write_json(pieces: "Iterator[pa.Table]") -> Iterator[int]:
    from scalelens.database.execute import as_frame

    comma = "["
    for piece in _in_parts(pieces):
        objects = json_text(as_frame(piece))[1:-1]
        sys.stdout.write(f"{comma}{objects}" if objects else "")
        comma = "," if objects else comma
        yield piece.num_rows
    sys.stdout.write("[]\n" if comma == "[" else "]\n")


def _write_parquet(pieces: "Iterator[pa.Table]") -> Iterator[int]:
    """Nothing is written before all pieces were there: a file that lacks some looks like a whole one."""
    import pyarrow.parquet as pq

    with tempfile.TemporaryFile() as file:
        first = next(pieces)
        with pq.ParquetWriter(file, first.schema, compression="zstd") as writer:
            writer.write_table(first)
            yield first.num_rows
            for piece in pieces:
                writer.write_table(piece)
                yield piece.num_rows
        file.seek(0)
        shutil.copyfileobj(file, sys.stdout.buffer)
