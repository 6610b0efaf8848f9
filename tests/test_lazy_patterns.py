"""Patterns of formats are compiled when they are first used, and all of them can be."""

import importlib
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

import scalelens.parsers
import scalelens.tabular
from scalelens.parsing import lazy_re


def test_a_lazy_pattern_is_like_that_of_re() -> None:
    lazy, eager = lazy_re.compile(r"(?P<n>\d+) s", re.IGNORECASE), re.compile(r"(?P<n>\d+) s", re.IGNORECASE)
    for text in ("took 12 S, then 3 s", "none"):
        assert lazy.findall(text) == eager.findall(text)
        assert bool(lazy.search(text)) == bool(eager.search(text))
        assert lazy.sub("x", text) == eager.sub("x", text)
    assert (lazy.pattern, lazy.flags, lazy.groupindex) == (eager.pattern, eager.flags, eager.groupindex)
    assert lazy_re.compiled(lazy) == lazy_re.compiled(eager) == eager
    assert lazy_re.compiled("text") is None


def test_a_wrong_pattern_fails_when_it_is_used() -> None:
    wrong = lazy_re.compile("(")
    with pytest.raises(re.error):
        wrong.match("")


def patterns_in(value: object, depth: int = 0) -> Iterator[re.Pattern[str]]:
    """Compiled patterns of a value and of the containers in it."""
    if pattern := lazy_re.compiled(value):
        yield pattern
    elif isinstance(value, dict | list | tuple | set | frozenset) and depth < 4:
        for item in value.values() if isinstance(value, dict) else value:
            yield from patterns_in(item, depth + 1)


def test_all_patterns_of_formats_compile() -> None:
    found = 0
    for package in (scalelens.parsers, scalelens.tabular):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            found += sum(1 for _ in patterns_in(tuple(vars(importlib.import_module(module.name)).values())))
    assert found > 700


def test_loading_all_formats_compiles_few_patterns() -> None:
    code = (
        "import re._compiler as c; n = 0\n"
        "def counted(*a, compile=c.compile):\n    global n; n += 1; return compile(*a)\n"
        "c.compile = counted\n"
        "from scalelens.ingestion import formats; formats.load(); print(n)"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert 0 < int(printed) < 400  # 900 without lazy patterns
