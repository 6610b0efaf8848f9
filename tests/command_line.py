"""The command line inside the process of the tests."""

import re
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
        return Ran(code, *capsys.readouterr())

    return run


def one_line(ran: Ran, *said: str) -> None:
    """Wrong use: exit 2, nothing on stdout, and one line that says what is wrong and what to do."""
    assert (ran.code, ran.out) == (2, ""), ran
    assert re.fullmatch(r"scalelens: [^\n]+; [^\n]+\n", ran.err), ran.err
    for text in said:
        assert text in ran.err
