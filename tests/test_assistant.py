"""The server for assistants: what it answers, how much, and what it keeps to itself."""

import asyncio
import json
import math
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import pytest

import hostile_calls
from command_line import one_line
from conftest import CORPUS, ROOT
from questions import NAMES, copy_logs, facts_of, played, script_of, statement_of
from scalelens.assistant.fitting import LONGEST, fitted_rows, fitted_text
from scalelens.assistant.load import schema_of, tools_for
from scalelens.assistant.worker import Office, Settings, Told, Worker
from scalelens.ingestion.ingest import ingest
from scalelens.report.envelopes import json_of

if TYPE_CHECKING:
    from command_line import Run

LOGS = ROOT / "src" / "scalelens" / "demo" / "logs"


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("assistant") / "w"
    ingest([LOGS], folder, jobs=1)
    return folder


@pytest.fixture(scope="module")
def office(study: Path) -> Office:
    return Office(Settings(str(study), str(LOGS)))


@pytest.fixture
def ask(office: Office) -> Callable[..., dict[str, Any]]:
    """Calls a tool that must answer."""

    def called(tool: str, **arguments: Any) -> dict[str, Any]:
        told = office.answer(tool, arguments)
        assert not told.is_error, told.text
        assert len(told.text) <= LONGEST
        found: dict[str, Any] = json.loads(told.text)
        return found

    return called


@pytest.fixture
def refused(office: Office) -> Callable[..., str]:
    """Calls a tool that must refuse, and returns why."""

    def called(tool: str, **arguments: Any) -> str:
        told = office.answer(tool, arguments)
        assert told.is_error, told.text
        return str(json.loads(told.text)["untrusted_reason"])

    return called


def column(answer: dict[str, Any], name: str) -> list[Any]:
    place = [one["name"] for one in answer["columns"]].index(name)
    return [row[place] for row in answer["rows"]]


# By the protocol


def example_of(description: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(description.rpartition("Example: ")[2])
    return found


def with_client(work: Callable[[Any], Any], *arguments: str, **environment: str) -> Any:
    """What `work` makes of a client that has started the server."""
    mcp = pytest.importorskip("mcp")

    async def main() -> Any:
        parameters = mcp.StdioServerParameters(
            command=sys.executable, args=["-m", "scalelens", "mcp", *arguments], env={**os.environ, **environment}
        )
        async with mcp.Client(mcp.stdio_client(parameters)) as client:
            return await work(client)

    return asyncio.run(main())


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs of the demo without their traces, in a folder that holds their warehouse, too."""
    folder = tmp_path_factory.mktemp("small")
    for path in (path for run in ("bf16-r1", "fp32-r1", "fp32-strong-r2") for path in (LOGS / run).glob("*.log")):
        copy = folder / "logs" / path.relative_to(LOGS)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    ingest([folder / "logs"], folder / "w", jobs=1)
    return folder


def test_a_client_lists_and_calls_every_tool(small: Path) -> None:
    async def work(client: Any) -> None:
        tools = (await client.list_tools()).tools
        assert {tool.name for tool in tools} == set(tools_for())
        drawn = ""
        for tool in sorted(tools, key=lambda tool: tool.name == "verify"):
            arguments = example_of(tool.description) if tool.name != "verify" else {"files": [drawn]}
            result = await client.call_tool(tool.name, arguments)
            text = result.content[0].text
            assert len(text) <= LONGEST and json.loads(text)
            assert not result.is_error or hasattr(tools_for()[tool.name], "QUERY"), (tool.name, text)
            if tool.name in ("plot", "report"):
                (picture,) = result.content[1:]
                assert picture.mime_type == "image/png" and picture.data.startswith("iVBOR")
            if tool.name == "plot":
                drawn = json.loads(text)["files"][0]
                assert Path(drawn).read_bytes().startswith(b"\x89PNG")
            if tool.name == "report":
                assert Path(json.loads(text)["file"]).read_text().startswith("<!DOCTYPE")
            if tool.name == "verify":
                assert json.loads(text)["verdicts"][0]["verdict"] == "same"
        for resource in (await client.list_resources()).resources:
            read = await client.read_resource(resource.uri)
            assert 100 < len(read.contents[0].text) <= LONGEST
        for template in (await client.list_resource_templates()).resource_templates:
            name = {"table": "steps", "query": "mfu", "run": "bf16-r1", "format": "megatron"}[template.name]
            read = await client.read_resource(template.uri_template.replace("{name}", name))
            assert name in read.contents[0].text

    before = contents_of(small)
    with_client(work, "-w", str(small / "w"), "--root", str(small / "logs"))
    assert contents_of(small) == before, "nothing is written, neither into the warehouse nor beside the logs"


def test_lines_that_are_no_calls_do_not_end_the_server(small: Path) -> None:
    """Written to the pipe itself, because a client would not send them."""
    pytest.importorskip("mcp")
    begin = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    call = {"name": "sql", "arguments": {"statement": "SELECT 42 AS n"}}
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": begin}).encode(),
        b'{"jsonrpc": "2.0", "method": "notifications/initialized"}', b"{", b"[]", b"null", b"\xff\xfe\x00", b"x" * 3_000_000,
        b"[" * 100_000, b'{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "sql"}}',
        b'{"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "sql", "arguments": {"statement": "\\ud800"}}}',
        b'{"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": 5, "arguments": [1]}}',
        b'{"jsonrpc": "2.0", "id": 5, "method": "nothing"}',
        b'{"jsonrpc": "2.0", "id": 6, "method": "tools/call", "params": {"name": "ask", "arguments": {"limit": 1e999}}}',
        json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call}).encode(),
    ]  # fmt: skip
    command = [sys.executable, "-m", "scalelens", "mcp", "-w", str(small / "w")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        assert server.stdin and server.stdout
        server.stdin.write(b"\n".join(lines) + b"\n")
        server.stdin.flush()
        answers = (json.loads(line) for line in server.stdout)
        last = next(answer for answer in answers if answer.get("id") == 7)
        server.stdin.close()
        assert json.loads(last["result"]["content"][0]["text"])["rows"] == [[42]]
        assert server.wait(20) == 0


def contents_of(folder: Path) -> dict[str, bytes]:
    """The files of a warehouse but what any question leaves there: its mark, and a cache that follows from the rest."""
    left = ("_readers", "_cache")
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.parent.name not in left)
    return {str(path): path.read_bytes() for path in paths}


def test_tools_have_schemas_with_types_bounds_and_meanings() -> None:
    for name, tool in tools_for().items():
        schema = schema_of(tool)
        assert schema["type"] == "object" and schema["additionalProperties"] is False, name
        for key, parameter in schema["properties"].items():
            assert parameter.get("description"), f"{name} does not say what {key} is"
            assert {"type", "anyOf", "enum"} & parameter.keys(), (name, key)
        assert set(tool.EXAMPLE) <= set(schema["properties"])
        assert (tool.__doc__ or "").strip()


def test_a_tool_of_a_query_is_offered_where_the_query_is(study: Path, tmp_path: Path) -> None:
    own = tmp_path / "queries"
    own.mkdir()
    for name in ("blame", "forecast"):
        (own / f"{name}.sql").write_text(
            "-- One.\n--\n-- Answers: Is it one?\n--\n-- Sources: runs\n--\n-- Parameters:\n--   most := 8    devices\n"
            "--\n-- Columns:\n--   run_id    VARCHAR    run\n--   n         INTEGER    its devices\n"
            "SELECT run_id, devices AS n FROM runs WHERE devices <= most\n"
        )
    assert {"blame", "forecast"} <= tools_for([own]).keys()
    office = Office(Settings(str(study), query_folders=[str(own)]))
    for name in ("blame", "forecast"):
        answer = json.loads(office.answer(name, {"parameters": {"most": 1}}).text)
        assert answer["query"] == name and set(column(answer, "n")) == {1}


def test_without_the_package_the_command_says_what_to_install(
    run: "Run", study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    one_line(run("mcp", "-w", study), "needs the package mcp", "pip install 'scalelens[mcp]'")


def test_the_command_refuses_what_cannot_be_served(run: "Run", study: Path, tmp_path: Path) -> None:
    one_line(run("mcp", "-w", tmp_path / "none"), "no warehouse", "scalelens ingest")
    one_line(run("mcp", "-w", study, "--root", tmp_path / "none"), "no such folder", "--root")
    one_line(run("mcp", "-w", study, "--write"), "--write needs a folder", "--root")


# Answers


def test_pages_of_an_answer_are_all_of_it(ask: Callable[..., dict[str, Any]]) -> None:
    whole, offset = [], 0
    while True:
        answer = ask(
            "sql",
            statement="SELECT file_id, line, name FROM events ORDER BY file_id, line, name LIMIT 450",
            offset=offset,
            limit=200,
        )
        whole += column(answer, "line")
        if answer["truncated"] is None:
            break
        offset = answer["truncated"]["next_offset"]
        assert "offset" in answer["truncated"]["how"]
    expected = ask(
        "sql",
        statement="SELECT list(line) AS lines, count(*) AS n FROM (SELECT line FROM events ORDER BY file_id, line, name LIMIT 450)",
    )
    assert len(whole) == column(expected, "n")[0] == 450
    assert whole[:50] == column(expected, "lines")[0][:50]


def test_a_long_answer_says_how_to_get_the_rest(ask: Callable[..., dict[str, Any]]) -> None:
    answer = ask("ask", question="selected_steps", columns=["*"], limit=1000)
    shown = len(answer["rows"])
    assert shown < answer["rows_in_all"] and answer["truncated"]["next_offset"] == shown
    rest = ask("ask", question="selected_steps", columns=["*"], offset=shown, limit=5)
    assert len(rest["rows"]) == 5 and rest["rows"] != answer["rows"][:5]


def test_an_answer_names_units_doubts_and_origins(ask: Callable[..., dict[str, Any]]) -> None:
    answer = ask("ask", question="batch_stats")
    units = {one["name"]: one.get("unit") for one in answer["columns"]}
    assert (units["step_s"], units["samples_per_s"]) == ("s", "samples/s") and "step_s_low" in units
    texts = [doubt["untrusted_text"] for doubt in answer["doubts"]]
    assert texts and len(set(texts)) == len(texts)
    names = {run["untrusted_name"] for run in answer["runs"]}
    assert "bf16-r1" in names and all(re.fullmatch(r"r\d+", origin) for (origin,) in answer["from"])
    line = ask("sql", statement="SELECT file_id, line, step_s FROM steps WHERE step = 7 LIMIT 1")
    ((origin,),) = line["from"]
    place, number = re.fullmatch(r"f(\d+):(\d+)", origin).groups()  # type: ignore[union-attr]
    found = ask("source", file=line["files"][int(place)]["file_id"], line=int(number), around=0)
    assert '"step": 7' in found["untrusted_lines"][0]


def test_columns_that_are_asked_for_keep_their_doubts(ask: Callable[..., dict[str, Any]]) -> None:
    answer = ask("ask", question="batch_stats", columns=["step_s"])
    assert [one["name"] for one in answer["columns"]] == ["run_id", "step_s"] and answer["doubts"]
    every = ask("ask", question="batch_stats", columns=["*"])
    assert len(every["columns"]) > 15


def test_an_empty_answer_says_why(ask: Callable[..., dict[str, Any]]) -> None:
    assert "power" in ask("ask", question="energy_integrated")["empty_because"][0]["untrusted_reason"]
    assert "power is empty" in ask("sql", statement="SELECT * FROM power")["empty_because"][0]["untrusted_reason"]
    assert (
        "conditions"
        in ask("sql", statement="SELECT * FROM steps WHERE step < 0")["empty_because"][0]["untrusted_reason"]
    )


def test_a_comparison_says_what_differs(ask: Callable[..., dict[str, Any]]) -> None:
    answer = ask("compare", a="fp32-r1", b="bf16-r1")
    assert (
        column(answer, "verdict")
        and ["precision", "performance", "fp32", "bf16"] in answer["untrusted_settings"]["rows"]
    )
    assert {run["untrusted_name"] for run in answer["runs"]} == {"fp32-r1", "bf16-r1"}


@pytest.mark.parametrize(
    ("tool", "arguments", "why"),
    [
        ("ask", {"question": "nothing"}, "there is no query 'nothing'"),
        ("ask", {"question": "scaling", "columns": ["efficency"]}, "did you mean efficiency"),
        ("ask", {"question": "scaling", "limit": 0}, "`int` >= 1"),
        ("ask", {"question": "scaling", "lines": 3}, "unknown field `lines`"),
        ("ask", {}, "missing required field `question`"),
        ("ask", {"question": "scaling", "where": "true; SELECT 1 AS efficiency"}, "takes one condition"),
        ("ask", {"question": "scaling", "sort": "devices; SELECT 1 AS efficiency"}, "takes one condition"),
        ("sql", {"statement": "COPY runs TO 'x'"}, "may write"),
        ("sql", {"statement": "SELECT * FROM read_text('/etc/passwd')"}, "this server does nothing else"),
        ("compare", {"a": "nope", "b": "bf16-r1"}, "no run is called 'nope'"),
        ("plot", {"chart": "scalling"}, "did you mean scaling"),
        ("explain", {"name": "scalling"}, "did you mean scaling"),
        ("list_questions", {"topic": "x"}, "there is no topic"),
        ("source", {"file": "nowhere.log"}, "is not in the warehouse"),
        ("source", {"file": "bf16-r1/rank0.log", "line": 10_000}, "has no line 10000"),
        ("identify", {"path": "../../demo"}, "outside the folder"),
        ("ingest", {"paths": ["."]}, "only reads"),
    ],
)
def test_a_mistake_is_told_with_what_to_do(
    refused: Callable[..., str], tool: str, arguments: dict[str, Any], why: str
) -> None:
    assert why in refused(tool, **arguments)


def test_a_source_that_has_changed_is_not_shown(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    text = (LOGS / "gpt-r1" / "rank0.log").read_text()
    (logs / "rank0.log").write_text(text)
    ingest([logs], tmp_path / "w", jobs=1)
    office = Office(Settings(str(tmp_path / "w")))
    call = {"file": "rank0.log", "line": 5, "around": 0}
    assert json.loads(office.answer("source", call).text)["untrusted_lines"] == [text.splitlines()[4]]
    (logs / "rank0.log").write_text(text + "hf_abcdefghijklmnopqrstuvwxyz\n")
    assert not office.answer("source", call).is_error, "a log that grew holds what was read"
    (logs / "rank0.log").write_text("x" + text[1:])
    assert "has changed since" in office.answer("source", call).text
    (logs / "rank0.log").unlink()
    assert "is gone" in office.answer("source", call).text


def test_a_source_shows_no_secret(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(f"WANDB_API_KEY=0123456789abcdef0123\n\x1b[2J{'x' * 100_000}\n" * 3)
    ingest([tmp_path / "job.log"], tmp_path / "w", jobs=1)
    told = Office(Settings(str(tmp_path / "w"))).answer("source", {"file": "job.log", "line": 2})
    assert (
        "0123456789" not in told.text
        and "WANDB_API_KEY=***" in told.text
        and "\\x1b[2J" in told.text.replace("\\\\", "\\")
    )
    assert len(told.text) < 4_000


def test_a_server_that_may_write_reads_below_its_root_alone(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "logs").mkdir(parents=True)
    (root / "logs" / "rank0.log").write_bytes((LOGS / "gpt-r1" / "rank0.log").read_bytes())
    (tmp_path / "other.log").write_bytes((LOGS / "bf16-r1" / "rank0.log").read_bytes())
    office = Office(Settings(str(tmp_path / "w"), str(root), True))
    assert "outside" in office.answer("ingest", {"paths": ["../other.log"]}).text
    told = json.loads(office.answer("ingest", {"paths": ["logs"]}).text)
    assert told["files_by_status"] == {"ok": 1} and told["written"]
    assert json.loads(office.answer("overview", {}).text)["runs"]["rows_in_all"] == 1
    (root / "logs" / "link").symlink_to(tmp_path / "other.log")
    assert "points outside" in office.answer("ingest", {"paths": ["logs"]}).text
    assert json.loads(office.answer("overview", {}).text)["runs"]["rows_in_all"] == 1


# Their length


def test_an_answer_of_any_shape_fits() -> None:
    for width, height, size in ((1, 5000, 3), (400, 50, 3), (3, 10, 30_000), (60, 3, 900)):
        content = {
            "columns": [{"name": f"c{k}", "type": "string", "unit": None, "meaning": "m" * 80} for k in range(width)],
            "key_columns": [], "rows": [["x" * size] * width for _ in range(height)],
            "doubts": [{"column": "note", "untrusted_text": "y" * size, "rows": list(range(height))}],
            "from": [["r0"]] * height, "runs": [{"run_id": "a", "untrusted_name": "a", "files": [0], "n_files": 1}],
            "files": [{"file_id": "f" * 64, "untrusted_path": "a.log"}],
        }  # fmt: skip
        part = fitted_rows(content, {"rows_in_all": height}, 0)
        assert len(json_of(part)) <= LONGEST, (width, height, size)
        assert part["truncated"] or len(part["rows"]) == height
        assert all(len(row) == len(part["columns"]) for row in part["rows"])


def test_a_long_text_is_read_in_parts() -> None:
    text, start, parts = "".join(map(str, range(20_000))), 0, ""
    while True:
        part = fitted_text("text", text, start, {})
        assert len(json_of(part)) <= LONGEST
        parts += part["text"]
        if part["truncated"] is None:
            break
        start = part["truncated"]["next_start"]
    assert parts == text


# Questions

PLAYED: dict[str, int] = {}  # the longest answer of each question


@pytest.mark.parametrize("name", NAMES)
def test_questions_are_answered_by_three_calls_at_most(name: str, tmp_path: Path) -> None:
    play(name, copy_logs(name, tmp_path / "logs"), tmp_path / "w")


def play(name: str, logs: Path, warehouse: Path) -> list[int]:
    """Asks all questions about the logs; returns the lengths of the answers."""
    ingest([logs], warehouse, jobs=1)
    office, facts, lengths = Office(Settings(str(warehouse))), facts_of(name, logs), []

    def call(tool: str, arguments: dict[str, Any]) -> str:
        told = office.answer(tool, arguments)
        assert not told.is_error, told.text
        lengths.append(len(told.text))
        return told.text

    for question in script_of(name)["question"]:
        assert len(question["calls"]) <= 3
        value, texts = played(question, facts, call)
        expected = facts[question["answer"]]
        assert math.isclose(value, expected, rel_tol=question.get("tolerance", 1e-6)), (
            question["ask"],
            value,
            expected,
        )
        assert max(map(len, texts)) <= LONGEST
    assert median(lengths) < 8_000
    return lengths


def test_there_are_sixty_questions() -> None:
    asked = [question["ask"] for name in NAMES for question in script_of(name)["question"]]
    assert len(NAMES) >= 6 and len(asked) >= 60


@pytest.mark.parametrize(
    ("name", "place"), [(name, place) for name in NAMES for place in script_of(name).get("corpus", [])]
)
def test_the_same_questions_about_logs_of_others(name: str, place: str, corpus: Path, tmp_path: Path) -> None:
    play(name, CORPUS / place, tmp_path / "w")


# The assistant's own answer

SENTENCES = (
    "The median step time of {name} is {step_s:.4g} s.",
    "The mean step time of {name} is {mean_s:.4g} s.",
    "{name} trains {samples_per_s:.4g} samples/s.",
    "The 95th percentile of the step times of {name} is {p95_s:.4g} s.",
)


def checked(office: Office, text: str) -> list[tuple[str, str, str]]:
    """Kind, number and query of each finding but those of names."""
    told = json.loads(office.answer("check_answer", {"text": text}).text)
    return [(row[0], row[1], row[5]) for row in told["findings"] if row[2]]


def test_an_answer_that_is_right_is_reproduced_with_its_queries(office: Office) -> None:
    for row in runs_of(office):
        text = " ".join(SENTENCES).format(**row)
        found = checked(office, text)
        assert len(found) == len(SENTENCES) and {kind for kind, _, _ in found} == {"reproduced"}, found
        assert all(query.startswith("SELECT ") for _, _, query in found)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == "trainer" else pytest.mark.slow) for name in NAMES]
)
def test_numbers_planted_into_the_answers_of_the_questions_are_found(name: str, tmp_path: Path) -> None:
    logs = copy_logs(name, tmp_path / "logs")
    ingest([logs], tmp_path / "w", jobs=1)
    office, facts = Office(Settings(str(tmp_path / "w"))), facts_of(name, logs)
    for question in script_of(name)["question"]:
        if "tolerance" in question:
            continue  # the script rounds otherwise than the warehouse
        right, statement = float(facts[question["answer"]]), statement_of(question, facts)
        for factor in (1, 0.6, 1.07, 10):
            value = right * factor
            number = f"{value:.0f}" if value >= 1e6 else format(Decimal(f"{value:.6g}"), "f")
            if factor != 1 and float(number) == right:
                continue
            text = f"{question['ask'].rstrip('?')}: the answer is {number}."
            told = json.loads(office.answer("check_answer", {"text": text, "statements": [statement]}).text)
            kinds = [row[0] for row in told["findings"] if row[1].rstrip(".").replace(",", "") == number]
            assert kinds and (kinds[-1] == "reproduced") is (factor == 1), (text, statement, told)


def test_a_number_of_the_statement_is_no_result(office: Office) -> None:
    given = {
        "text": "On 2 devices and 3 nodes there are 8 runs.",
        "statements": ["SELECT count(*) FROM runs WHERE devices > 0 * 2"],
    }
    told = json.loads(office.answer("check_answer", given).text)
    assert {row[1]: row[0] for row in told["findings"]} == {"2": "reproduced", "3": "unsupported", "8": "reproduced"}
    assert told["verdict"].startswith("wrong")


@pytest.mark.parametrize("factor", [0.6, 0.93, 1.07, 1.3, 10])
def test_every_wrong_number_is_found(office: Office, factor: float) -> None:
    for row in runs_of(office):
        wrong = {key: value * factor if isinstance(value, float) else value for key, value in row.items()}
        for planted, sentence in enumerate(SENTENCES):
            text = " ".join(one.format(**(wrong if k == planted else row)) for k, one in enumerate(SENTENCES))
            number = re.findall(r" ([\d.]+)(?= s| samples)", sentence.format(**wrong))[-1]
            kinds = [kind for kind, text_of, _ in checked(office, text) if text_of.rstrip(".") == number]
            assert kinds and "reproduced" not in kinds, (text, kinds)


def runs_of(office: Office) -> list[dict[str, Any]]:
    rows = office.desk.study.sql("SELECT name, b.* FROM batch_stats() AS b JOIN runs USING (run_id)").to_dicts()
    assert len(rows) == 8
    return rows


def test_an_answer_that_contradicts_itself_is_impossible(ask: Callable[..., dict[str, Any]]) -> None:
    answer = ask(
        "check_answer", text="The job went from 1 GPU to 8 GPUs with a speedup of 12 and an efficiency of 40 %."
    )
    assert answer["counts"]["impossible"] and answer["verdict"].startswith("wrong")


# Who means harm


@pytest.fixture
def attacked(tmp_path: Path) -> Iterator[tuple[Path, Path, Path]]:
    """A warehouse of logs that hold instructions, the root that they are in, and a file outside of it."""
    root, outside = tmp_path / "root", tmp_path / "outside.txt"
    hostile_calls.plant(root)
    outside.write_text(f"{hostile_calls.OUTSIDE}\n" * 3)
    (root / "link-to-outside").symlink_to(outside)
    (root / "linked-folder").symlink_to(tmp_path)
    ingest([root / path.name for path in root.iterdir() if not path.is_symlink()], tmp_path / "w", jobs=1)
    yield tmp_path / "w", root, outside


def attack(warehouse: Path, root: Path, outside: Path, number: int) -> int:
    """Makes hostile calls; returns how many were answered."""

    async def work(client: Any) -> int:
        tools = {tool.name: list(tool.input_schema["properties"]) for tool in (await client.list_tools()).tools}
        answered = 0
        for tool, arguments in hostile_calls.calls(tools, root, outside, number):
            text = await told(client, tool, arguments)
            assert hostile_calls.OUTSIDE not in text, (tool, arguments)
            assert len(text) <= LONGEST
            answered += 1
        assert json.loads(await told(client, "overview", {}))["runs"]["rows_in_all"], "it goes on"
        return answered

    before = contents_of(warehouse)
    found: int = with_client(
        work, "-w", str(warehouse), "--root", str(root), SCALELENS_SECRET=hostile_calls.OUTSIDE
    )  # fmt: skip
    assert contents_of(warehouse) == before
    assert not [path for path in root.rglob("*") if path.suffix in (".parquet", ".duckdb")], "nothing was written"
    return found


async def told(client: Any, tool: str, arguments: Any) -> str:
    """The text of an answer, or what the protocol says in its place."""
    from mcp import MCPError

    try:
        if tool == "resource":
            return str((await client.read_resource(arguments)).contents[0].text)
        return str((await client.call_tool(tool, arguments)).content[0].text)
    except (MCPError, UnicodeEncodeError, ValueError) as error:  # the client itself refuses what is not UTF-8
        return str(error)[:LONGEST]


def test_hostile_calls_leak_nothing(attacked: tuple[Path, Path, Path]) -> None:
    assert attack(*attacked, 30) == 30


@pytest.mark.slow
def test_five_hundred_hostile_calls_leak_nothing(attacked: tuple[Path, Path, Path]) -> None:
    assert attack(*attacked, 600) >= 500


def test_texts_of_logs_stand_in_marked_fields_alone(attacked: tuple[Path, Path, Path]) -> None:
    check_marked_fields(attacked, 16)


@pytest.mark.slow
def test_texts_of_logs_stand_in_marked_fields_alone_whatever_is_asked(attacked: tuple[Path, Path, Path]) -> None:
    check_marked_fields(attacked, 1)


def check_marked_fields(attacked: tuple[Path, Path, Path], one_of: int) -> None:
    """Asks one of so many queries, and everything else."""
    warehouse, root, _ = attacked
    office = Office(Settings(str(warehouse), str(root)))
    seen = ""
    for tool, arguments in every_call(office, one_of):
        text = office.answer(tool, arguments).text
        seen += text
        leaked = [part for part in hostile_calls.trusted_texts(json.loads(text)) if hostile_calls.PLANTED in part]
        assert leaked == [], (tool, arguments)
    assert seen.count(hostile_calls.PLANTED) > 100, "they are there, and marked"


def every_call(office: Office, one_of: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """A call of each tool, of some queries, and of each table."""
    from scalelens.queries.load import load
    from scalelens.tables import documented

    for name in ["runs_overview", *sorted(load())[::one_of]]:
        yield "ask", {"question": name, "columns": ["*"], "limit": 5}
    for table in documented():
        yield "sql", {"statement": f"FROM {table}", "limit": 5}
    runs = office.desk.study.sql("SELECT run_id, name FROM runs")["run_id"].to_list()
    paths = office.desk.study.sql("SELECT path, file_id FROM files")["file_id"].to_list()
    yield from (("source", {"file": path, "line": 1}) for path in paths)
    yield "compare", {"a": runs[0], "b": runs[-1]}
    yield "compare", {"a": "nobody", "b": runs[-1]}
    yield "sql", {"statement": "PIVOT (SELECT name, outcome FROM runs) ON name USING count(*)"}
    yield "sql", {"statement": "SELECT CAST(value AS INTEGER) FROM params"}
    yield "sql", {"statement": "SELECT struct_pack(k := key), [value], map([key], [value]) FROM params"}
    yield from (("identify", {"path": str(path)}) for path in office.desk.root.rglob("*.*") if path.is_file())  # type: ignore[union-attr]
    yield from ((tool, {}) for tool in ("overview", "list_questions", "history", "plot"))
    yield (
        "ingest",
        {"paths": [path.name for path in office.desk.root.iterdir() if not path.is_symlink()], "dry_run": True},
    )  # type: ignore[union-attr]
    yield "check_answer", {"text": "The step takes 0.5 s and 8 GPUs reach 90 % efficiency."}
    if one_of == 1:
        yield "plot", {"chart": "step_times"}
        yield "report", {}


# The process that answers


def test_a_question_without_end_is_stopped_and_the_next_is_answered(study: Path) -> None:
    worker = Worker(Settings(str(study)))
    scratch = Path(worker._scratch)
    try:
        endless = "SELECT count(*) FROM (FROM range(3000000000) ORDER BY hash(range))"  # more than memory holds
        worker.call("sql", {"statement": "SELECT 41 AS n"}, 60)
        began = time.monotonic()
        stopped = worker.call("sql", {"statement": endless}, 1.5)
        assert stopped.is_error and "was stopped" in stopped.text and time.monotonic() - began < 20
        assert scratch.is_dir() and not list(scratch.iterdir()), "what DuckDB put aside is gone"
        assert json.loads(worker.call("sql", {"statement": "SELECT 42 AS n"}, 60).text)["rows"] == [[42]]
        worker._process.kill()  # type: ignore[union-attr]
        worker._process.wait()  # type: ignore[union-attr]
        assert json.loads(worker.call("sql", {"statement": "SELECT 43 AS n"}, 60).text)["rows"] == [[43]]
    finally:
        worker.close()
    assert not scratch.exists()


def test_a_defect_is_an_answer(
    office: Office, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: Any) -> Told:
        raise KeyError(hostile_calls.OUTSIDE)

    monkeypatch.setattr(office.tools["explain"], "answer", broken)
    told = office.answer("explain", {"name": "mfu"})
    assert told.is_error and "explain failed (KeyError)" in told.text and hostile_calls.OUTSIDE not in told.text
    assert "Traceback" in capsys.readouterr().err
