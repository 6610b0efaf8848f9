"""Whether a question can be asked: there is such a query, with such parameters, which may have these values."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from scalelens.errors import UserError, did_you_mean
from scalelens.queries.header import Query, is_builtin
from scalelens.queries.load import paths_of_queries
from scalelens.queries.parameter_values import check_value
from scalelens.question.question import Question


def check(question: Question, queries: Mapping[str, Query], folders: Iterable[Path] = ()) -> None:
    """Raises UserError for a query or parameter that does not exist, and for a value that a parameter cannot have."""
    if question.query is None:
        return
    query = queries.get(question.query)
    if query is None:
        names = paths_of_queries(folders)
        remedy = did_you_mean(question.query, names) or f"there are: {', '.join(sorted(names))}"
        raise UserError(f"there is no query '{question.query}'", remedy)
    allowed = {parameter.name: parameter for parameter in query.parameters}
    for name, value in question.parameters.items():
        if name not in allowed:
            takes = f"it takes {', '.join(allowed)}" if allowed else "it takes no parameters"
            raise UserError(f"'{name}' is not a parameter of {query.name}", takes)
        if is_builtin(query.path):
            check_value(allowed[name], value)
    _check_together(question.parameters)


def _check_together(given: Mapping[str, object]) -> None:
    """Raises UserError for values of two parameters that contradict each other."""
    warmup = given.get("warmup")
    if given.get("exclude") == "none" and warmup is not None and float(str(warmup)) > 0:
        raise UserError(
            f"exclude=none leaves nothing out, and warmup={warmup} leaves out the first {warmup} records",
            "give one of the two",
        )
