"""The page of a report: one HTML file that loads nothing else.

Every text from a file passes `_inert`, and the page's policy allows only its own script, by its hash.  The same content
gives the same bytes.
"""

import base64
import hashlib
import html
import shlex
from collections.abc import Sequence
from pathlib import Path
from string import Template

from scalelens.inert import visible
from scalelens.report.content import Article, Content, ReportTable, content_of
from scalelens.report.files import write_file
from scalelens.report.glance import GlanceBlock
from scalelens.report.text.sentences import FindingSentence, few_of, plural
from scalelens.report.text.table_columns import TableColumn
from scalelens.version import __version__

_FOLDER = Path(__file__).parent
_PARTS = {
    "findings": "Findings", "runs": "Runs, and how they ended", "answers": "Answers by topic",
    "files": "What was read, and what was not", "again": "Reproduce this page",
}  # fmt: skip


def write_report(
    root: Path,
    path: Path,
    title: str,
    traces_alone: bool = False,
    query_folders: tuple[Path, ...] = (),
    commands: Sequence[str] = (),
) -> Path:
    """Writes the report of a warehouse, with the commands that reproduce it.  Raises UserError where it cannot."""
    content = content_of(root, traces_alone, query_folders)
    place = shlex.quote(str(root))
    commands = commands or [f"scalelens report -w {place} -o {shlex.quote(str(path))}"]
    write_file(path, page(content, title, commands).encode(errors="replace"))
    return path


def page(content: Content, title: str, commands: Sequence[str]) -> str:
    """The whole page.  `commands` reproduce it."""
    script = (_FOLDER / "page.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    parts = {
        "findings": _findings(content),
        "runs": table(content.runs) or "<p>No file holds a run.</p>",
        "answers": _answers(content),
        "files": _files(content),
        "again": f"<pre>{_inert(chr(10).join(commands))}</pre>",
    }
    main = "\n".join(f'<section id="{key}"><h2>{_PARTS[key]}</h2>\n{text}</section>' for key, text in parts.items())
    ended = ", ".join(f"{count} {outcome.replace('_', ' ')}" for outcome, count in content.counts.items())
    n_runs = sum(content.counts.values())
    return Template((_FOLDER / "page.html").read_text(encoding="utf-8")).substitute(
        script_hash=f"sha256-{digest}",
        version=__version__,
        title=_inert(title),
        style=(_FOLDER / "page.css").read_text(encoding="utf-8"),
        summary=_inert(
            f"{plural(n_runs, 'run')}{f' ({ended})' if ended else ''} in {plural(content.files.n_rows, 'file')}."
        ),
        navigation=" ".join(f'<a href="#{key}">{words}</a>' for key, words in _PARTS.items()),
        main=main,
        footer=f"ScaleLens {__version__}. This page loads nothing from a network.",
        script=script,
    )


def _inert(text: str) -> str:
    """A text from a file as HTML: its markup does nothing, and its control characters are visible."""
    return html.escape(visible(text, lines=True))


def _findings(content: Content) -> str:
    """The findings, then the questions without a finding."""
    articles = [article for article in content.articles if article.sentences]
    quiet = [article for article in content.articles if not article.sentences]
    shown = "\n".join(map(_finding, articles)) or "<p>Nothing was found.</p>"
    if not quiet:
        return shown
    entries = "".join(f"<dt>{_inert(one.question)}</dt><dd>{_inert(one.nothing)}</dd>" for one in quiet)
    return f'{shown}\n<article><h3>Checked, nothing to report</h3><dl class="quiet">{entries}</dl></article>'


def _finding(article: Article) -> str:
    figure = ""
    if article.chart:
        svg, refusal = article.chart
        figure = f"<figure>{svg}</figure>" if svg else f'<p class="none">{_inert(refusal)}</p>'
    made_from = f"Of {plural(article.n_inputs, 'file')}; sha256 of their ids: {article.inputs_sha256}"
    return (
        f"<article{' class=wrong' if article.is_fault else ''}><h3>{_inert(article.question)}</h3>\n"
        f"{listed(article.sentences)}\n{figure}\n"
        f"{_folded('Table', table(article.table), printed=True)}"
        f"{_folded('SQL', f'<pre>{_inert(article.table.sql)}</pre><p class=remark>{made_from}</p>')}</article>"
    )


def listed(sentences: Sequence[FindingSentence]) -> str:
    """The sentences of a finding.  A doubt that they all share comes once, so that the sentences stand out."""
    doubts = [sentence.doubt for sentence in sentences if sentence.doubt]
    shared = doubts[0] if len(doubts) > 1 and len(set(doubts)) == 1 else ""
    items = "".join(
        f'<li>{_inert(sentence.text)} <span class="doubt">{_inert("" if shared else sentence.doubt)}</span></li>'
        for sentence in sentences
    )
    return f"<ul>{items}</ul>" + (f'<p class="doubt">For each of them: {_inert(shared)}</p>' if shared else "")


def _answers(content: Content) -> str:
    parts, topic = [], ""
    for query, rows in content.answers:
        if query.topic != topic:
            topic = query.topic
            parts.append(f"<h3>{_inert(topic.capitalize())}</h3>")
        inner = f'{table(rows)}<p class="remark">scalelens explain {query.name}</p>'
        parts.append(_folded(_inert(query.title), inner))
    return "\n".join(parts) or "<p>There is nothing to answer from.</p>"


def _files(content: Content) -> str:
    """All files, and what was not understood."""
    problems = table(content.problems)
    lines = (
        f"<h3>Lines that were not understood</h3>\n{problems}"
        if problems
        else "<p>Every line of a known format was understood.</p>"
    )
    if not content.files.n_rows:
        return "<p>No file was read.</p>"
    listed = _folded("All " + plural(content.files.n_rows, "file"), table(content.files))
    return f"{lines}\n{listed}"


def _folded(summary: str, inner: str, printed: bool = False) -> str:
    """A part that opens on a click; it is on paper only if `printed`."""
    return (
        f"<details{' data-print=1' if printed else ''}><summary>{summary}</summary>{inner}</details>" if inner else ""
    )


def table(given: ReportTable) -> str:
    """The blocks of an answer, and the number of rows without room."""
    shown = "\n".join(map(_block, given.blocks))
    n_shown = sum(len(one.columns[0].texts) for one in given.blocks if one.columns)
    rest = given.n_rows - n_shown
    more = f'<p class="remark">{rest:,} more rows, or rows that are alike (×).</p>' if rest > 0 else ""
    return shown + more


def _block(given: GlanceBlock) -> str:
    heading = f"<caption>{_inert(given.heading)}</caption>" if given.heading else ""
    heads = "".join(
        f'<th scope="col"{_side(column)}><button type="button">{_inert(column.header)}</button></th>'
        for column in given.columns
    )
    lines = "\n".join(
        "<tr>"
        + "".join(f"<td{_side(column)}>{_inert(text)}</td>" for column, text in zip(given.columns, row, strict=True))
        for row in zip(*(column.texts for column in given.columns), strict=True)
    )
    remarks = "".join(
        f'<p class="remark">{_inert(f"{few_of(keys)}: {text}")}</p>' for text, keys in given.remarks.items()
    )
    label = _inert(given.heading or "Table")
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{label}"><table>{heading}'
        f"<thead><tr>{heads}</tr></thead>\n<tbody>{lines}</tbody></table></div>{remarks}"
    )


def _side(column: TableColumn) -> str:
    return ' class="number"' if column.right else ""
