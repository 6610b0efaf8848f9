"""The pages for assistants, printed from the texts that the server itself sends: `pytest tests/test_assistants.py --update`."""

import json
import re
import textwrap
from pathlib import Path

from conftest import ROOT
from reference import PRINTED, TOPICS, cell, table
from scalelens.assistant.load import schema_of, tools_for
from scalelens.assistant.skill import KEYS, RULES, STEPS
from scalelens.queries import load as queries
from scalelens.tables import MEANINGS, STORED, documented

DOCS = ROOT / "docs"
PRINTED_HERE = PRINTED.replace("test_docs", "test_assistants")
CLIENTS = (
    ("Claude Code", "", "claude mcp add scalelens -- scalelens mcp -w /data/study"),
    ("Codex", "`~/.codex/config.toml`", '[mcp_servers.scalelens]\ncommand = "scalelens"\nargs = ["mcp", "-w", "/data/study"]'),
    ("Claude Desktop, Cursor, Gemini CLI",
     "`claude_desktop_config.json`, `.cursor/mcp.json`, `~/.gemini/settings.json`",
     '{\n  "mcpServers": {\n    "scalelens": {"command": "scalelens", "args": ["mcp", "-w", "/data/study"]}\n  }\n}'),
    ("VS Code", "`.vscode/mcp.json`",
     '{\n  "servers": {\n    "scalelens": {"type": "stdio", "command": "scalelens", "args": ["mcp", "-w", "/data/study"]}\n  }\n}'),
    ("A warehouse on a login node, by SSH", "in any of these",
     '{"command": "ssh", "args": ["login.example.org", "scalelens", "mcp", "-w", "/data/study"]}'),
)  # fmt: skip
DESCRIPTION = (
    "Answers questions about training logs, power logs and profiler traces of supercomputers from a ScaleLens warehouse: "
    "step times, scaling, throughput, MFU, energy, slow GPUs, comparisons of runs. Use it whenever a number about such a "
    "run is asked for, written or checked."
)


def first_sentence(text: str) -> str:
    return " ".join(text.split("\n\n")[0].split())


def tools_table() -> str:
    rows = []
    for name, tool in tools_for().items():
        if getattr(tool, "QUERY", None) is None:
            takes = ", ".join(f"`{key}`" for key in schema_of(tool)["properties"])
            rows.append((f"`{name}`", cell(first_sentence(tool.__doc__ or "")), takes))
    return table("tool,what it does,takes", rows)


def tables_table() -> str:
    rows = [
        (
            f"`{name}`",
            cell(MEANINGS[name]),
            ", ".join(column.name for column in columns) if name in STORED or name == "runs" else "",
        )
        for name, columns in documented().items()
    ]
    return table("table,a row is,columns", [(name, meaning, cell(columns)) for name, meaning, columns in rows])


def steps(with_commands: bool) -> str:
    text = ""
    for place, (heading, tool, command, meaning) in enumerate(STEPS, 1):
        text += f"{place}. **{heading}** (`{tool}`). {meaning}\n"
        text += f"\n   ```console\n   $ {command}\n   ```\n\n" if with_commands else ""
    return text if with_commands else f"{text}\n"


def rules() -> str:
    return "".join(f"- **{rule}** {text}\n" for rule, text in RULES) + "\n"


def questions_by_topic() -> str:
    asked = sorted((query for query in queries.load().values() if not query.is_helper), key=lambda query: query.name)
    parts = []
    for topic, heading in TOPICS.items():
        names = ", ".join(f"`{query.name}`" for query in asked if query.topic == topic)
        parts.append(f"- {heading}: {names}\n")
    return "".join(parts) + "\n"


# The pages


def envelope_page() -> str:
    return f"""# Answers for programs and assistants

{PRINTED_HERE}`--format envelope` writes one JSON object that a program can rely on: the rows, what each column means, what is to be
doubted, and where each row comes from.  `scalelens query` and `scalelens sql` have it, and so have `compare`, `history`
and `next-runs`.  `--format json` stays a list of rows.  An [assistant](assistants.md) gets the same object, at most
20,000 characters of it, without `inputs_sha256` and `provenance`.

```
scalelens query scaling -w study --format envelope > scaling.json
scalelens verify scaling.json -w study
scalelens compare fp32-r1 bf16-r1 -w study --format envelope
scalelens next-runs precision=fp32 precision=bf16 -w study --format envelope
```

{table("key,content", [(f"`{key}`", text) for key, text in KEYS.items()])}## How to use it

{rules()}- **Take the answer of `compare` from its row.** It holds `verdict`, the `sentence` that people read, the `ratio` with its
  interval, and `comparable`. What differs between the two sides, and signs of a cause, are queries of their own:
  `scalelens query differences a=A b=B --format envelope`, and `compare_evidence` likewise.
- **The exit code means the same in every format**: of `compare --fail-above` and of `history` it is 1 for a regression.
  The envelope is whole in both cases.
- An error is one line on stderr, `scalelens: WHAT; REMEDY`, with exit code 2 and nothing on stdout.

`scalelens queries --format json` lists the questions, `scalelens tables --format json` the columns of the tables.

## What changed from version 1

`scalelens-envelope/1` had each row as an object with a key, repeated each doubt for each row, and named no origins.

| version 1 | version 2 |
|---|---|
| `rows[i].values.step_s` | `rows[i][k]`, where `columns[k].name` is `step_s` |
| `rows[i].key` | the values of `key_columns` in the row |
| `doubts[j].key`, `.text` | `doubts[j].rows`, `.untrusted_text` |
| `definition` | `scalelens explain NAME` |
| | `from`, `runs`, `files`, `rows_in_all`, `truncated`, `empty_because`, `columns[k].untrusted` |
"""


def assistants_page(measured: str) -> str:
    """`measured` is the part of the page that people write after a measurement."""
    clients = "".join(
        f"**{name}**{f' ({file})' if file else ''}\n\n```\n{text}\n```\n\n" for name, file, text in CLIENTS
    )
    return f"""# Ask it in words

{PRINTED_HERE}`scalelens mcp` serves a warehouse to an assistant, by the Model Context Protocol over standard input and output. The
assistant asks the named questions, sees lines of files, charts and doubts, and checks its own answer against the
warehouse before you read it. Nothing opens a network: what the assistant itself sends to its provider is up to it, and
that includes the content of the answers.

## Install

```
pip install 'scalelens[mcp]'
scalelens ingest logs/ -w study
```

The server is started by the assistant:

```
scalelens mcp -w study
scalelens mcp -w study --root logs --write
```

It reads only: like any question, it leaves nothing in the warehouse but a cache in `_cache`, which may be removed. With
`--root` it may read files below that folder (`identify`, `verify`, `ingest` with `dry_run`), with `--write` it may also
read them into the warehouse. It never follows a link out of the folder. Charts and reports are written into a temporary
folder.

## Connect

Give the warehouse as an absolute path: assistants start the server in a folder of their own choice.

{clients}Assistants that know skills take [SKILL.md](SKILL.md), which says the same as the server does: copy it to
`.claude/skills/scalelens/SKILL.md`, or where yours looks for skills. Without the server, SKILL.md works with the command line.
[llms.txt](llms.txt) lists these pages for assistants that read them.

## Tools

{tools_table()}`blame` and `forecast` are tools where these queries are there. The resources `scalelens://tables`, `queries`, `runs` and
`formats`, and `scalelens://tables/steps` and the like, contain the same texts.

## The way of an answer

{steps(with_commands=False)}## What to trust

{rules()}`check_answer` says of each number of a text: `reproduced` (with the query that gives it), `stale` (the query that its words name gives
another value), `impossible` (it contradicts other numbers of the text) or `untraceable`. A number that is reproduced by
chance is rare but possible: read its query as well.

{measured}"""


MEASURED = re.compile(r"## What was measured\n.*", re.DOTALL)


def measured_in(page: Path) -> str:
    found = MEASURED.search(page.read_text()) if page.exists() else None
    return found[0] if found else "## What was measured\n\nNothing yet.\n"


def skill() -> str:
    return f"""---
name: scalelens
description: {json.dumps(DESCRIPTION)}
---

# ScaleLens

{PRINTED_HERE}A warehouse contains what the logs, power files and traces of finished jobs say. Ask it by the tools of the server `scalelens`
(`scalelens mcp -w study`), or by the command line where there is no server; `study` is the warehouse.

## The way of an answer

{steps(with_commands=True)}## Rules

{rules()}## Tools

{tools_table()}An answer has at most 20,000 characters. `truncated` says what is missing, and how to get it; `from` where each row comes from:
`f2:17` is line 17 of the file at place 2 of `files`, `r0` the run at place 0 of `runs`.

## Questions

`list_questions`, or `scalelens queries`; `explain`, or `scalelens explain NAME`, says what one computes.

{questions_by_topic()}Parameters of most: `runs` (an SQL condition on the columns of `runs`), `epochs`, `warmup`, `exclude`.

```console
$ scalelens query throughput runs="devices = 2 AND precision = 'fp32'" -w study
$ scalelens compare fp32-r1 bf16-r1 -w study
$ scalelens explain scaling
```

## Tables

{tables_table()}`explain steps`, or `scalelens tables steps`, says what each column is. Measured columns end in their unit: `step_s`, `power_w`,
`energy_j`. `run_id` joins them, `files` has the path of each `file_id`, `runs` the name of each run:

```console
$ scalelens sql "SELECT max(step_s) FROM steps JOIN runs USING (run_id) WHERE name = 'bf16-r1' AND phase = 'train'" -w study
$ scalelens sql "SELECT max(step_s) FROM steps JOIN files USING (file_id) WHERE ends_with(path, '/bf16-r1/rank0.log')" -w study
```

## Before you answer

Write the answer in whole sentences, each number with its unit and the name of its run, and check it against the warehouse:
`check_answer`, or `scalelens audit answer.md -w study`. Then say the doubts, and which runs and files it rests on.
"""


def llms_txt() -> str:
    pages = "".join(
        f"- [{title}]({path.name}): {about}\n" for path, title, about in map(_about, sorted(DOCS.glob("*.md")))
    )
    return f"""# ScaleLens

> {DESCRIPTION}

{PRINTED_HERE}## The way of an answer

{steps(with_commands=False)}## Rules

{rules()}## Questions

{questions_by_topic()}## Pages

{pages}"""


def _about(path: Path) -> tuple[Path, str, str]:
    """A page with its title and the first sentence of its text."""
    text = re.sub(r"^---\n.*?\n---\n", "", path.read_text(), flags=re.DOTALL)
    title = re.search(r"^# (.+)$", text, re.MULTILINE)
    prose = (block for block in re.split(r"\n\s*\n", text) if re.match(r"[A-Z`\[*]", block.strip()))
    first = " ".join(next(prose, "").split())
    sentence = re.split(r"(?<=[.?])\s", re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", first), maxsplit=1)[0]
    return path, title[1] if title else path.stem, textwrap.shorten(sentence, 160, placeholder=" ...")
