"""The tools: each file of the folder `tools`, as the protocol lists them.  Nothing here opens a warehouse."""

import importlib
import pkgutil
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from scalelens.assistant import tools
from scalelens.errors import UserError
from scalelens.queries.load import paths_of_queries

USUAL_LIMIT_S = 60
_LONGEST_ARGUMENTS = 200_000  # characters of a call


@cache
def _modules() -> dict[str, ModuleType]:
    names = sorted(file.name for file in pkgutil.iter_modules(tools.__path__))
    return {name: importlib.import_module(f"{tools.__name__}.{name}") for name in names}


def tools_for(query_folders: Iterable[Path] = ()) -> dict[str, ModuleType]:
    """The tools whose queries there are, by name."""
    queries = paths_of_queries(query_folders)
    return {name: tool for name, tool in _modules().items() if getattr(tool, "QUERY", None) in (None, *queries)}


def description_of(tool: ModuleType) -> str:
    """What a tool does, with an example."""
    text = (tool.__doc__ or "").strip()
    return f"{text}\n\nExample: {msgspec.json.encode(tool.EXAMPLE).decode()}"


def schema_of(tool: ModuleType) -> dict[str, Any]:
    """The JSON schema of what a tool takes, in one object."""
    (schema,), components = msgspec.json.schema_components([tool.Arguments], ref_template="#/$defs/{name}")
    del schema
    found: dict[str, Any] = components[tool.Arguments.__name__]
    return {key: value for key, value in found.items() if key != "title"}


def arguments_of(tool: ModuleType, given: Any) -> Any:
    """What was given to a tool, checked.  Raises UserError with what is wrong."""
    try:
        if len(msgspec.json.encode(given)) > _LONGEST_ARGUMENTS:
            raise UserError("the call is too long", f"give at most {_LONGEST_ARGUMENTS:,} characters")
        return msgspec.convert(given, tool.Arguments, strict=False)
    except msgspec.ValidationError as error:
        fields = ", ".join(tool.Arguments.__struct_fields__) or "nothing"
        raise UserError(f"the call does not fit: {error}", f"the tool takes {fields}") from None
    except (UnicodeEncodeError, RecursionError, OverflowError, ValueError) as error:
        raise UserError(f"the call cannot be read ({type(error).__name__})", "send plain JSON in UTF-8") from None
