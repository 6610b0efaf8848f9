"""Whether a value can be one of a query's parameter.  DuckDB would complain of a function inside the query instead.

What is allowed stands in the header: a parameter whose default is a number takes numbers, and the meaning of one of
CHOICES quotes each of its words.
"""

import re
from typing import Any

from scalelens.errors import UserError
from scalelens.queries.shared_parameters import Parameter

CHOICES = ("exclude", "metric", "extent", "per", "steps", "statistic", "method", "formula", "attention", "direction",
           "suspects")  # fmt: skip
_ANY_SIGN = ("target",)  # a log-likelihood is below 0
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


def check_value(parameter: Parameter, value: Any) -> None:
    """Raises UserError for a value that the parameter cannot have, with what it takes.  None is SQL's NULL."""
    text = str(value)
    takes = what_it_takes(parameter)
    if value is None or not takes:
        return
    if parameter.name in CHOICES:
        fits = text in words(parameter)
    elif parameter.default in ("true", "false"):
        fits = text.lower() in ("true", "false")
    else:
        fits = bool(_NUMBER.fullmatch(text)) and (parameter.name in _ANY_SIGN or float(text) >= 0)
    if not fits:
        raise UserError(f"'{text}' is not a value of {parameter.name}", f"it takes {takes}")


def what_it_takes(parameter: Parameter) -> str:
    """The values of a parameter in words; empty where any text may be one."""
    if parameter.name in CHOICES:
        *first, last = words(parameter)
        return f"{', '.join(first)} or {last}"
    if parameter.default in ("true", "false"):
        return "true or false"
    if parameter.default == "NULL" or _NUMBER.fullmatch(parameter.default):
        return "a number" if parameter.name in _ANY_SIGN else "a number, 0 or more"
    return ""


def words(parameter: Parameter) -> list[str]:
    """The words that a choice is made of, the default first."""
    return list(dict.fromkeys(re.findall(r"'(\w+)'", f"{parameter.default} {parameter.meaning}")))
