"""The reference pages of docs/, printed from headers and docstrings as pages for readers."""

import re
import textwrap
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import groupby
from types import ModuleType

from scalelens.charts import load as charts
from scalelens.parsing.format_file import name_of
from scalelens.queries import load as queries
from scalelens.queries.header import Query
from scalelens.tables import documented

PRINTED = "<!-- Printed from the code: pytest tests/test_docs.py --update -->\n\n"
TOPICS = {
    "runs": "Runs and their settings", "steps": "Steps", "scaling": "Scaling", "throughput": "Throughput",
    "efficiency": "Where the time goes", "compare": "Comparing runs", "accuracy": "Accuracy", "energy": "Energy",
    "outliers": "Slow devices", "jobs": "Many jobs and their nodes", "trace": "Traces", "published": "Published results",
}  # fmt: skip
EXAMPLE = re.compile(r"^```console\n\$ scalelens query (\w+)\b.*?^```$", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"(`[^`\n]+`)")
_ACTIVE = re.compile(r"([\\*\[\]#]|(?<![^\W_])_|_(?![^\W_]))")
_ENTRY = re.compile(r" *([a-z_]\w*) {2,}(\S.*)")


def prose(text: str) -> str:
    """A text as Markdown in which nothing but its backquotes is markup."""
    parts = _CODE.split(" ".join(text.split()))
    plain = [part if k % 2 else _ACTIVE.sub(r"\\\1", part).replace("<", "&lt;") for k, part in enumerate(parts)]
    return "".join(plain)


def cell(text: str) -> str:
    return prose(text).replace("|", "\\|")


def table(heads: str, rows: list[tuple[str, ...]]) -> str:
    """A table, or nothing where it has no rows."""
    names = heads.split(",")
    lines = [f"| {' | '.join(row)} |\n" for row in (tuple(names), ("---",) * len(names), *rows)]
    return "".join([*lines, "\n"]) if rows else ""


def fenced(text: str) -> str:
    return f"```\n{textwrap.dedent(text).strip(chr(10))}\n```\n\n"


# Queries


def queries_page(examples: Mapping[str, str]) -> str:
    """All queries: the questions by topic, then each with its example, then those that other queries read."""
    loaded = sorted(queries.load().values(), key=lambda query: query.name)
    asked = [query for query in loaded if not query.is_helper]
    used = defaultdict(list)
    for query in loaded:
        for source in query.sources:
            used[source].append(query.name)
    pages = [
        f"# Queries\n\n{PRINTED}Each query answers a question: `scalelens query NAME`, with parameters as `name=value`; in SQL "
    ]
    pages += ["it is a table macro, `FROM name(parameter := value)`. Examples ask the logs of the demo; where those "]
    pages += ["hold nothing to answer from, logs that docs/studies/gallery.py makes up, and no number in them "]
    pages += ["was measured. `scalelens explain NAME` prints a page with its SQL.\n\n"]
    pages += list(_index(asked))
    for query in asked:
        pages += _query(query, examples.get(query.name, ""))
    pages.append("## Queries that other queries read\n\nFew ask these by themselves.\n\n")
    for query in (query for query in loaded if query.is_helper):
        pages += _query(query, "", f"Read by {', '.join(f'[{name}](#{name})' for name in used[query.name])}.\n\n")
    return "".join(pages)


def _index(asked: list[Query]) -> Iterator[str]:
    places = {topic: place for place, topic in enumerate(TOPICS)}
    for topic, group in groupby(
        sorted(asked, key=lambda query: (places[query.topic], query.name)), lambda query: query.topic
    ):
        yield f"**{TOPICS[topic]}**\n\n"
        yield table("query,question", [(f"[{query.name}](#{query.name})", cell(query.question)) for query in group])


def _query(query: Query, example: str, about: str = "") -> Iterator[str]:
    yield f"## {query.name}\n\n{prose(query.title)}\n\n{_answers(query)}{about}"
    yield f"{example}\n\n" if example else ""
    for name in (name for name, chart in charts.load().items() if query.name == chart.QUERY):
        yield f"![{name}](gallery/{name}.png)\n\n[`scalelens plot {name}`](gallery.md#{name}) draws it.\n\n"
    for heading, text in query.notes.items():
        yield f"**{heading}**\n\n{fenced(text)}" if heading == "Formula" else f"**{heading}:** {prose(text)}\n\n"
    parameters = [(f"`{one.name}`", f"`{one.default}`", cell(one.meaning)) for one in query.parameters]
    yield table("parameter,default,meaning", parameters)
    columns = [(f"`{one.name}`", one.type, one.unit or "", cell(one.meaning)) for one in query.columns]
    yield table("column,type,unit,meaning", columns)
    yield f"Reads {', '.join(_link(source) for source in query.sources)}."
    yield f" No rows? `scalelens query {query.explained_when_empty}` says why.\n\n" if query.when_empty else "\n\n"


def _answers(query: Query) -> str:
    """The question, and what stands below it; names with their meanings after two spaces are a list."""
    blocks: list[list[str]] = [[]]
    for line in query.answers.removeprefix(query.question).splitlines():
        entry = _ENTRY.fullmatch(line)
        goes_on = blocks[-1][:1] == ["entry"] and line.startswith("  ")
        if entry:
            blocks.append(["entry", f"`{entry[1]}`:", entry[2]])
        elif blocks[-1][:1] == ["entry"] and not goes_on:
            blocks.append([line])
        else:
            blocks[-1].append(line)
    text = f"**{prose(query.question)}**"
    for block in blocks:
        is_entry = block[:1] == ["entry"]
        said = prose("\n".join(block[1:] if is_entry else block))
        text += f"\n- {said}" if is_entry else f"\n\n{said}" if "\n- " in text else f" {said}" if said else ""
    return re.sub(r"(?<!\n)\n- ", "\n\n- ", text, count=1) + "\n\n"


def _link(source: str) -> str:
    if source in queries.load():
        return f"[{source}](#{source})"
    return f"[{source}](tables.md#{source})" if source in documented() else f"`{source}`"


def examples_in(page: str) -> dict[str, str]:
    """The examples of a printed page by query."""
    return {match[1]: match[0] for match in EXAMPLE.finditer(page)}


# Formats


def formats_page(modules: list[ModuleType]) -> str:
    pages = [
        f"# Formats\n\n{PRINTED}A file is recognized by its content, never by its name: `scalelens identify FILE` shows which format takes "
    ]
    pages += ["which lines. Versions are those that were tried.\n\n"]
    rows = [
        (f"[{name_of(module)}](#{name_of(module)})", cell(_title(module)), cell(_facts(module).get("Yields", "")))
        for module in modules
    ]
    pages.append(table("format,what it is,yields", rows))
    for module in modules:
        pages.append(f"## {name_of(module)}\n\n{prose(_title(module))}\n\n")
        pages += [f"- **{name}:** {prose(text)}\n" for name, text in _facts(module).items()]
        pages.append("\n")
        pages += _body(module)
    return "".join(pages)


def _parts(module: ModuleType) -> tuple[str, str]:
    """The first sentence of a docstring, and what follows it."""
    title, _, rest = (module.__doc__ or "").strip().partition("\n\n")
    return title, rest


def _title(module: ModuleType) -> str:
    return _parts(module)[0]


_FACT = re.compile(r"^(Tool|Versions|Yields|Source): *((?:.|\n(?!\w+:|\n))*)", re.MULTILINE)


def _facts(module: ModuleType) -> dict[str, str]:
    """What stands below the fixed headings, but the samples."""
    return {name: " ".join(text.split()) for name, text in _FACT.findall(_parts(module)[1])}


def _body(module: ModuleType) -> Iterator[str]:
    """The prose and the samples: lines that are indented are code, with the blank lines between them."""
    code: list[str] = []
    for paragraph in filter(str.strip, re.split(r"\n[ \t]*\n", _FACT.sub("", _parts(module)[1]))):
        said, indented = _divided(paragraph.strip("\n"))
        if said and code:
            yield fenced("\n\n".join(code))
            code = []
        if said:
            yield f"**{said[:-1]}**\n\n" if re.fullmatch(r"[A-Z][\w ]+:", said) else f"{prose(said)}\n\n"
        code += [indented] if indented else []
    yield fenced("\n\n".join(code)) if code else ""


def _divided(paragraph: str) -> tuple[str, str]:
    """The lines of a paragraph before the first that is indented, and the rest."""
    lines = paragraph.splitlines()
    first = next((k for k, line in enumerate(lines) if line.startswith("    ")), len(lines))
    return "\n".join(lines[:first]).strip(), "\n".join(lines[first:])
