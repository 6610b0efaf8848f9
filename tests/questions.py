"""Questions about small warehouses, played by a client that follows a script: what it calls, and the number it takes."""

import importlib.util
import json
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from conftest import FIXTURES

QUESTIONS = FIXTURES / "questions"
NAMES = sorted(path.stem for path in QUESTIONS.glob("*.toml"))
Call = Callable[[str, dict[str, Any]], str]  # a tool and its arguments; the text of the answer


def script_of(name: str) -> dict[str, Any]:
    return tomllib.loads((QUESTIONS / f"{name}.toml").read_text())


def facts_of(name: str, folder: Path) -> dict[str, Any]:
    """What the questions' own script reads from the logs."""
    spec = importlib.util.spec_from_file_location(f"questions_{name}", QUESTIONS / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: dict[str, Any] = module.facts(folder)
    return found


def copy_logs(name: str, folder: Path) -> Path:
    """The logs that the questions are about, in a folder of their own."""
    folder.mkdir()
    for pattern in script_of(name)["logs"]:
        base, _, last = pattern.rpartition("/")
        for path in sorted((FIXTURES / base).glob(last)):
            if path.is_dir():
                shutil.copytree(path, folder / path.name)
            else:
                shutil.copy(
                    path,
                    folder / (path.name if not path.name.startswith("trace_") else f"{path.parent.name}_{path.name}"),
                )
    return folder


def played(question: dict[str, Any], facts: dict[str, Any], call: Call) -> tuple[float, list[str]]:
    """The number that the answers to a question's calls give, and these answers."""
    texts, numbers = [], []
    for one in question["calls"]:
        arguments = _filled({key: value for key, value in one.items() if key != "tool"}, facts)
        texts.append(call(one["tool"], arguments))
        numbers.append(_number(json.loads(texts[-1]), question.get("column")))
    taken = [number for number in numbers if number is not None]
    value = taken[0] / taken[1] if question.get("how") == "ratio" else taken[question.get("at", -1)]
    return value * question.get("factor", 1), texts


def statement_of(question: dict[str, Any], facts: dict[str, Any]) -> str:
    """SQL that gives the answer to a question, as its calls do."""
    found = []
    for one in (_filled(call, facts) for call in question["calls"]):
        statement = one.get("statement", "SELECT count(*) FROM runs")
        if one["tool"] == "ask":
            quoted = {name: str(value).replace("'", "''") for name, value in one.get("parameters", {}).items()}
            parameters = ", ".join(f"{name} := '{value}'" for name, value in quoted.items())
            statement = (
                f"SELECT {question['column']} FROM {one['question']}({parameters}) WHERE {one.get('where', 'true')}"
            )
        found.append(statement)
    taken = found[question.get("at", -1)]
    if question.get("how") == "ratio":
        return f"SELECT ({found[0]}) / ({found[1]})"
    return f"SELECT {question['factor']} * ({taken})" if "factor" in question else taken


def _filled(value: Any, facts: dict[str, Any]) -> Any:
    """Arguments with the names that the script chose."""
    if isinstance(value, dict):
        return {key: _filled(inner, facts) for key, inner in value.items()}
    if isinstance(value, str):
        for name, text in facts.items():
            value = value.replace(f"{{{name}}}", str(text))
    return value


def _number(answer: dict[str, Any], column: str | None) -> float | None:
    """The value of a column in the only row of an answer; of an overview the number of its runs."""
    if "runs_by_outcome" in answer:
        answer = answer["runs"]
    if column == "rows_in_all":
        return float(answer[column])
    if "rows" not in answer:
        return None
    assert len(answer["rows"]) == 1, answer
    names = [one["name"] for one in answer["columns"]]
    return float(answer["rows"][0][names.index(column or names[-1])])
