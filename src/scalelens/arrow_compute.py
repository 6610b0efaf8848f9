"""Arrow's functions of columns, without `pyarrow.compute`.

    from scalelens import arrow_compute as pc

When that is loaded, it writes a function of Python with its documentation for each of Arrow's three hundred, which
takes a sixth of the processor time of reading a log of some hundred records.  Here a function is called by its name;
those with options are written out.  Methods of columns and tables load it, too: `filter`, `take`, `cast`, `unique`,
`is_valid`, `fill_null`, `dictionary_encode`.
"""

import functools
from collections.abc import Iterable
from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("__"):  # Python's own machinery asks for these
        raise AttributeError(name)
    return globals().setdefault(name, functools.partial(_call, name))


@functools.cache
def _arrow() -> Any:
    import pyarrow._compute  # of which `pyarrow.compute` takes all of its functions

    return pyarrow._compute


def _call(name: str, *values: Any, options: Any = None) -> Any:
    return _arrow().call_function(name, [*values], options)


def cast(values: Any, kind: Any) -> Any:
    """The values in another type; raises pyarrow.ArrowInvalid where it cannot hold one of them."""
    return _call("cast", values, options=_arrow().CastOptions.safe(kind))


def filter(rows: Any, mask: Any) -> Any:
    """The rows of an array, a batch or a table for which the mask is true."""
    return _call("filter", rows, mask, options=_arrow().FilterOptions("drop"))


def take(rows: Any, indices: Any) -> Any:
    """The rows of an array, a batch or a table at some places."""
    return _call("take", rows, indices, options=_arrow().TakeOptions(boundscheck=True))


def is_in(values: Any, value_set: Any) -> Any:
    """Whether each value is one of some."""
    return _call("is_in", values, options=_arrow().SetLookupOptions(value_set=value_set, skip_nulls=False))


def index_in(values: Any, value_set: Any) -> Any:
    """The place of each value among some; NULL where it is none of them."""
    return _call("index_in", values, options=_arrow().SetLookupOptions(value_set=value_set, skip_nulls=False))


def dictionary_encode(values: Any, nulls: str = "mask") -> Any:
    """The values as numbers of the different ones; "encode" gives NULL a number as well."""
    return _call("dictionary_encode", values, options=_arrow().DictionaryEncodeOptions(nulls))


def starts_with(texts: Any, begin: str) -> Any:
    """Whether each text begins with another one."""
    return _call("starts_with", texts, options=_arrow().MatchSubstringOptions(begin, ignore_case=False))


def replace_substring(texts: Any, old: str, new: str) -> Any:
    """The texts with one piece in place of another one."""
    return _call("replace_substring", texts, options=_arrow().ReplaceSubstringOptions(old, new))


def binary_slice(texts: Any, begin: int, end: int) -> Any:
    """The bytes of each text between two places."""
    return _call("binary_slice", texts, options=_arrow().SliceOptions(begin, end, 1))


def sorted_by(rows: Any, columns: Iterable[str]) -> Any:
    """The rows of a table in the order of the values of some columns, the first of which counts most."""
    keys = [(column, "ascending") for column in columns]
    return take(rows, _call("sort_indices", rows, options=_arrow().SortOptions(keys)))


def ends(values: Any) -> tuple[Any, Any]:
    """The smallest and the largest value of a column; None where it has none.

    Arrow takes longer than numpy for few values, but leaves out NULL and NaN.
    """
    if len(values) and not values.null_count:
        numbers = values.to_numpy()
        least, greatest = values[int(numbers.argmin())].as_py(), values[int(numbers.argmax())].as_py()
        if least == least:
            return least, greatest
    least, greatest = _call("min_max", values).as_py().values()
    return least, greatest
