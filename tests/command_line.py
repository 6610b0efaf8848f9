"""The command line inside the process of the tests."""

import contextlib
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from scalelens.cli import main, make_app

app = make_app()


class Ran(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str


Run = Callable[..., Ran]


def runner(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """What runs a command, without what the variables of the user's environment say."""
    for variable in (
        "SCALELENS_WAREHOUSE",
        "SCALELENS_FORMATS",
        "SCALELENS_QUERIES",
        "SCALELENS_CHARTS",
        "SCALELENS_MEMORY",
    ):
        monkeypatch.delenv(variable, raising=False)

    def run(*arguments: str | Path) -> Ran:
        monkeypatch.setattr(sys, "argv", ["scalelens", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        code = ended.value.code
        assert isinstance(code, int)
        ran = Ran(code, *capsys.readouterr())
        assert not _advises(ran.err, arguments), f"it advises what was typed: {ran.err}"
        return ran

    return run


def _advises(text: str, arguments: tuple[str | Path, ...]) -> bool:
    """Whether a text names the very command that was typed, with its arguments in any order."""
    typed = sorted(map(str, arguments))
    for command in re.findall(r"scalelens ([^\n]+)", text) if len(typed) > 1 else ():
        with contextlib.suppress(ValueError):  # prose with an apostrophe
            words = shlex.split(command)
            if sorted(words[: len(typed)]) == typed:
                return True
    return False


def one_line(ran: Ran, *said: str) -> None:
    """Wrong use: exit 2, nothing on stdout, and one line that says what is wrong and what to do."""
    assert (ran.code, ran.out) == (2, ""), ran
    assert re.fullmatch(r"scalelens: [^\n]+; [^\n]+\n", ran.err), ran.err
    for text in said:
        assert text in ran.err
