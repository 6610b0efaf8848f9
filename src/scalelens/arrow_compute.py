"""`pyarrow.compute`, which is loaded when the first of its functions is used: 0.02 s that small logs do without.

from scalelens import arrow_compute as pc
"""

from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("__"):  # Python's own machinery asks for these
        raise AttributeError(name)
    import pyarrow.compute

    return globals().setdefault(name, getattr(pyarrow.compute, name))


def ends(values: Any) -> tuple[Any, Any]:
    """The smallest and the largest value of a column; None where it has none.

    Arrow takes longer than numpy for few values, but leaves out NULL and NaN.
    """
    if len(values) and not values.null_count:
        numbers = values.to_numpy()
        least, greatest = values[int(numbers.argmin())].as_py(), values[int(numbers.argmax())].as_py()
        if least == least:
            return least, greatest
    least, greatest = __getattr__("min_max")(values).as_py().values()
    return least, greatest
