"""Commands as typer has them, which take plain arguments as they are, and whose help keeps its square brackets.

typer converts each argument by pydantic, even one that was not given, and to load pydantic takes as long as the answer
to a small question.  Older versions of typer, without pydantic, are left alone.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Any, get_args

from typer.core import TyperCommand, TyperGroup

from scalelens.inert import visible


class Command(TyperCommand):
    """A command that converts plain arguments itself."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _take_plainly(self.get_params(ctx))
        with _inert_refusals():
            return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        with _brackets_as_text(self, *self.get_params(ctx)):
            super().format_help(ctx, formatter)


class Group(TyperGroup):
    """The same for a group of commands, whose options are read first."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _take_plainly(self.get_params(ctx))
        with _inert_refusals():
            return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if ctx.parent is None and args and self.get_command(ctx, args[0]) is None:
            from scalelens.cli.other_kinds import refuse_command  # only a mistake needs it

            refuse_command(args[0])
        with _inert_refusals():
            return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        with _brackets_as_text(self, *self.commands.values()):
            super().format_help(ctx, formatter)


@contextmanager
def _inert_refusals() -> Iterator[None]:
    """What typer says of arguments that it does not know; a shell may have made them of names of files."""
    try:
        yield
    except Exception as refusal:
        for name in ("message", "option_name", "param_hint"):
            if isinstance(text := getattr(refusal, name, None), str):
                setattr(refusal, name, visible(text))
        raise


@contextmanager
def _brackets_as_text(*with_help: Any) -> Iterator[None]:
    """While help is printed, rich takes the square brackets in it as text, not as markup."""
    from rich.markup import escape

    texts = [getattr(one, "help", None) for one in with_help]
    for one, text in zip(with_help, texts, strict=True):
        if text:
            one.help = escape(text)
    try:
        yield
    finally:
        for one, text in zip(with_help, texts, strict=True):
            if text:
                one.help = text


def _take_plainly(parameters: list[Any]) -> None:
    """Lets parameters of texts, of unchecked paths and of choices convert a good value themselves."""
    for parameter in parameters:
        if hasattr(parameter, "type_descriptor"):
            parameter.process_value = _processor(parameter, parameter.process_value)


def _processor(parameter: Any, of_typer: Any) -> Any:
    """What converts a value; typer does it where there is something to check or to complain about."""

    def process(context: Any, value: Any) -> Any:
        try:
            plain = _plain_value(parameter, value)
        except ValueError:
            return of_typer(context, value)
        return parameter.callback(context, parameter, plain) if parameter.callback else plain

    return process


def _plain_value(parameter: Any, value: Any) -> Any:
    """The value as a command takes it.  Raises ValueError where more than a call of its type is needed."""
    described = parameter.type_descriptor
    is_list = parameter.multiple or parameter.nargs == -1
    if parameter.value_is_missing(value):
        if parameter.required:
            raise ValueError("typer says what is missing")
        return () if is_list else None
    kind = get_args(described.annotation)[0] if is_list else described.annotation
    if kind is int and not is_list:
        return _number_within(value, described.parameter_info)
    declared = described.parameter_info
    if not (_is_plain(kind, declared) or (kind is Path and not is_list and _is_good_path(value, declared))):
        raise ValueError("typer checks it")
    return [kind(one) for one in value] if is_list else kind(value)


def _number_within(value: Any, declared: Any) -> int:
    """A whole number.  Raises ValueError for text and for numbers outside of bounds: typer says what is wrong."""
    number = int(value)
    is_below = declared.min is not None and number < declared.min
    if is_below or declared.parser is not None or declared.max is not None:
        raise ValueError("typer checks it")
    return number


def _is_good_path(value: Any, declared: Any) -> bool:
    """Whether there is nothing to complain about in a path: there is no such file, or it is as a parameter wants it."""
    if declared.parser is not None or declared.exists or declared.resolve_path or value == "-":
        return False
    if not os.path.lexists(value):
        return True
    is_allowed = declared.dir_okay if os.path.isdir(value) else declared.file_okay
    asked = (os.R_OK if declared.readable else 0) | (os.W_OK if declared.writable else 0)
    return is_allowed and os.access(value, asked)


def _is_plain(kind: Any, declared: Any) -> bool:
    """Whether a call of its type converts and checks a value, as a parameter is declared."""
    if declared.parser is not None or not isinstance(kind, type):
        return False
    is_checked = declared.exists or declared.readable or declared.writable or declared.resolve_path
    is_any_path = kind is Path and not is_checked and declared.file_okay and declared.dir_okay
    return kind is str or is_any_path or (issubclass(kind, str) and issubclass(kind, Enum))
