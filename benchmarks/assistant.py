"""How long and how large the answers for an assistant are: `python benchmarks/assistant.py`, a minute.

Starts `scalelens mcp` on the logs of the demo as an assistant does, by the client of the package mcp, and asks the
questions of tests/fixtures/questions.  Prints the figures of docs/assistants.md.
"""

import asyncio
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import mcp

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from questions import NAMES, copy_logs, facts_of, played, script_of  # noqa: E402
from scalelens.assistant.worker import Office, Settings  # noqa: E402
from scalelens.ingestion.ingest import ingest  # noqa: E402

LOGS = ROOT / "src" / "scalelens" / "demo" / "logs"
REPEATS = 20


async def called(client: Any, tool: str, **arguments: Any) -> tuple[float, int]:
    """Seconds and characters of an answer."""
    began = time.perf_counter()
    result = await client.call_tool(tool, arguments)
    seconds = time.perf_counter() - began
    assert not result.is_error, result.content[0].text
    return seconds, len(result.content[0].text)


async def by_the_protocol(warehouse: Path) -> None:
    parameters = mcp.StdioServerParameters(
        command=sys.executable, args=["-m", "scalelens", "mcp", "-w", str(warehouse)], env={**os.environ}
    )
    began = time.perf_counter()
    async with mcp.Client(mcp.stdio_client(parameters)) as client:
        tools = (await client.list_tools()).tools
        print(f"until the tools are listed: {time.perf_counter() - began:.2f} s")
        listed = sum(len(json.dumps([tool.name, tool.description, tool.input_schema])) for tool in tools)
        print(f"{len(tools)} tools, {listed:,} characters with their schemas")
        seconds, _ = await called(client, "ask", question="batch_stats")
        print(f"first ask: {seconds:.2f} s; from the start of the server: {time.perf_counter() - began:.2f} s")
        await asyncio.sleep(5)
        for tool, arguments in (
            ("ask", {"question": "batch_stats"}), ("ask", {"question": "scaling"}), ("ask", {"question": "outlier_gpus"}),
            ("sql", {"statement": "SELECT phase, count(*) FROM steps GROUP BY ALL"}), ("overview", {}),
            ("compare", {"a": "fp32-r1", "b": "bf16-r1"}),
            ("check_answer", {"text": "The median step time of bf16-r1 is 0.555 s, that of fp32-r1 0.907 s."}),
        ):  # fmt: skip
            times = [await called(client, tool, **arguments) for _ in range(REPEATS)]
            taken = sorted(seconds for seconds, _ in times)
            what = arguments.get("question", "")
            print(f"{tool} {what}: median {median(taken):.3f} s, longest {taken[-1]:.3f} s, {times[0][1]:,} characters")


def questions(folder: Path) -> None:
    """The lengths of the answers to all questions, and how many calls they take."""
    lengths: list[int] = []
    n_calls = n_right = 0
    for name in NAMES:
        logs = copy_logs(name, folder / name)
        ingest([logs], folder / f"{name}-warehouse", jobs=1)
        office, facts = Office(Settings(str(folder / f"{name}-warehouse"))), facts_of(name, logs)

        def call(tool: str, arguments: dict[str, Any], office: Office = office) -> str:
            lengths.append(len(office.answer(tool, arguments).text))
            return office.answer(tool, arguments).text

        for question in script_of(name)["question"]:
            value, texts = played(question, facts, call)
            n_calls += len(texts)
            n_right += abs(value - facts[question["answer"]]) <= 1e-4 * abs(facts[question["answer"]])
    print(f"{n_right} questions answered in {n_calls} calls and {sum(lengths):,} characters")
    print(
        f"an answer: median {median(lengths):,.0f}, 95 % below {quantiles(lengths, n=20)[-1]:,.0f}, longest {max(lengths):,}"
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ingest([LOGS], folder / "w", jobs=1)
        asyncio.run(by_the_protocol(folder / "w"))
        questions(folder)


if __name__ == "__main__":
    main()
