"""Old names that the files of users may still use.  They answer in this version, and go with the next one.

A renaming is one line of the table: of a module, of what a module defines, or of what a class defines.
"""

import functools
import inspect
import pkgutil
import sys
import warnings
from collections.abc import Callable
from typing import Any, TypeVar, cast

# By the kind of file that uses them, as `folders.user_module` calls it: the old name, and the new one.
OLD_NAMES = {
    "format": {
        "scalelens.parsing.lines": "scalelens.parsing.dispatch",
        "scalelens.parsing.line_times": "scalelens.parsing.stamps",
        "scalelens.parsing.dispatch.Line.place": "scalelens.parsing.dispatch.Line.location",
        "scalelens.parsing.values.whole": "scalelens.parsing.values.integer",
        "scalelens.parsing.values.whole_valued": "scalelens.parsing.values.integer_valued",
        "scalelens.parsing.values.json_whole": "scalelens.parsing.values.json_integer",
    },
}


def keep_old_names(kind: str) -> None:
    """Lets what has a new name answer to its old one, too, in files of this kind that are loaded from now on."""
    for old, new in OLD_NAMES.get(kind, {}).items():
        value = pkgutil.resolve_name(new)
        owner, _, name = old.rpartition(".")
        setattr(pkgutil.resolve_name(owner), name, value)
        if inspect.ismodule(value):
            sys.modules[old] = value


# Columns of queries: by the query, the old name of each and the new one.  `queries/old_columns.py` lets users' SQL
# name both, `with_old_columns` users' charts.
OLD_COLUMNS = {
    "ablation": {"warning": "note"},
    "batch_cdf": {"elbow_place": "elbow_number", "elbow_reason": "note", "refusal": "reason"},
    "batch_device_grid": {"warning": "note"},
    "batch_size_curve": {"no_knee": "reason"},
    "efficiency_tree": {"remark": "note"},
    "elbow": {"elbow_place": "elbow_number"},
    "energy_of_steps": {"left_out": "excluded_by", "place_in_run": "position_in_run"},
    "energy_reconciled": {"contradiction": "note", "said_by": "source"},
    "goodput": {"remark": "note"},
    "kept_times": {"refusal": "reason"},
    "logged_steps": {"place_in_run": "position_in_run"},
    "lost_time": {"remark": "note"},
    "model_flops": {"missing": "reason"},
    "precision_gain": {"warning": "note"},
    "rank_places": {"told_by": "source"},
    "scaling": {"warning": "note"},
    "scaling_times": {"warning": "note"},
    "selected_steps": {"left_out": "excluded_by", "place_in_run": "position_in_run"},
    "step_course": {"n_left_out": "n_excluded", "place_in_run": "position_in_run", "rules": "excluded_by"},
    "temporal_breakdown": {"remark": "note"},
    "waterfall": {"remark": "note"},
}

OLD_TEXTS = ("rules",)  # columns that are lists now, and were texts: their entries with blanks between them

# Arguments of the library's functions: by the function, the old name of each and the new one.
_OLD_ARGUMENTS = {
    "ingest": {"begin": "on_progress", "zone": "time_zone", "mapping": "columns", "again": "reread"},
}

_Function = TypeVar("_Function", bound=Callable[..., Any])


def with_old_columns(draw: _Function, query: str) -> _Function:
    """Lets a user's chart read the columns of its query by their old names, too."""

    @functools.wraps(draw)
    def drawn(rows: Any, *more: Any, **options: Any) -> Any:
        known = {old: rows[new] for old, new in OLD_COLUMNS.get(query, {}).items() if new in rows and old not in rows}
        known = {old: values.list.join(" ") if old in OLD_TEXTS else values for old, values in known.items()}
        return draw(rows.with_columns(**known), *more, **options)

    return cast(_Function, drawn)


def with_old_arguments(function: _Function) -> _Function:
    """Lets a function take the old names of its arguments, too, with a warning."""
    names = _OLD_ARGUMENTS[function.__name__]

    @functools.wraps(function)
    def renamed(*values: Any, **arguments: Any) -> Any:
        for old in arguments.keys() & names.keys():
            warnings.warn(f"{old} is called {names[old]} now", DeprecationWarning, stacklevel=2)
            arguments[names[old]] = arguments.pop(old)
        return function(*values, **arguments)

    return cast(_Function, renamed)
