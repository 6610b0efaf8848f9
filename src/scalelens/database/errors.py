"""Errors of DuckDB as sentences for people."""

import contextlib
import re
from collections.abc import Iterator

import duckdb

from scalelens.errors import UserError

UNSAFE = "--unsafe lets it do what DuckDB can"
_REMEDIES = {
    "CatalogException": "see scalelens tables and scalelens queries",
    "BinderException": "columns are listed by scalelens tables, parameters by scalelens queries",
    "IOException": "if a segment is missing or damaged, scalelens check says how to repair it",
    "PermissionException": f"a question reads the warehouse alone; {UNSAFE}",
    "OutOfMemoryException": 'ask for fewer runs, runs="...", or allow more: SCALELENS_MEMORY=16GB',
}

_NOT_UTF_8 = "cannot encode str as UTF-8"  # of a parameter's value
_REFUSED = "Invalid Input Error: "  # what DuckDB puts before the words of error()


class MayWriteError(UserError):
    """A statement that is not carried out, because it may write."""


class MissingNameError(UserError):
    """A statement names a table, a macro or a function that is not there."""


class SegmentError(UserError):
    """A file of the warehouse cannot be read."""


_KINDS = {"CatalogException": MissingNameError, "IOException": SegmentError}


@contextlib.contextmanager
def duckdb_errors_as_user_errors() -> Iterator[None]:
    try:
        yield
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except (UnicodeEncodeError, duckdb.Error) as error:
        raise as_user_error(error) from None


def as_user_error(error: Exception) -> UserError:
    """An error of DuckDB or polars in one line."""
    if isinstance(error, UnicodeEncodeError) or _NOT_UTF_8 in str(error):
        return UserError("the query contains bytes that are not valid UTF-8", "write it in UTF-8")
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = " ".join(line for line in lines if not re.match(r"LINE \d+:|\^", line))
    if text.startswith(_REFUSED):  # said by a query of ours: what is wrong, and what to do
        reason, _, remedy = text.removeprefix(_REFUSED).partition("; ")
        return UserError(reason, remedy or "see scalelens explain and the query's name")
    name = type(error).__name__
    return _KINDS.get(name, UserError)(text.rstrip("."), _REMEDIES.get(name, "correct the SQL"))
