"""The page of a report: one HTML file that loads nothing else.

Every text from a file passes `inert`, and the page's policy allows only its own script, by its hash.  The same content
gives the same bytes.
"""

import base64
import hashlib
import shlex
from collections.abc import Collection, Sequence
from pathlib import Path
from string import Template

from scalelens.report.articles import Article
from scalelens.report.content import Content, content_of
from scalelens.report.html_summary import drawing, summary
from scalelens.report.html_tables import inert, table
from scalelens.report.neighbors import link_to
from scalelens.report.text.sentences import FindingSentence, plural
from scalelens.version import __version__
from scalelens.whole_files import write_file

_FOLDER = Path(__file__).parent
_PARTS = {
    "summary": "Summary", "findings": "Findings", "runs": "Runs", "answers": "More tables", "checked": "Also checked",
    "files": "Files", "again": "Reproduce this page",
}  # fmt: skip


def write_report(
    root: Path,
    path: Path,
    title: str = "",
    traces_alone: bool = False,
    query_folders: tuple[Path, ...] = (),
    commands: Sequence[str] = (),
    folder: str = "",
) -> Path:
    """Writes the report of a warehouse, with the commands that reproduce it.  Raises UserError where it cannot.

    Without a title the page is named by what the logs say, else by `folder`.
    """
    content = content_of(root, traces_alone, query_folders)
    place = shlex.quote(str(root))
    commands = commands or [f"scalelens report -w {place} -o {shlex.quote(str(path))}"]
    further = [f"scalelens query runs_overview -w {place}"] if content.runs.n_rows else []
    further = [] if traces_alone else [*further, *_figure(content, place)]
    text = page(content, title, [*commands, *further], folder or root.name, link_to("explore", path))
    write_file(path, text.encode(errors="replace"))
    return path


def _figure(content: Content, place: str) -> list[str]:
    """The command that draws the figure of the first screen; none where there is no figure."""
    charts = (article.chart for article in content.articles if article.name == content.headline)
    return [f"scalelens {chart.command} -w {place}" for chart in charts if chart and chart.command]


def page(content: Content, title: str, commands: Sequence[str], folder: str = "", beside: str = "") -> str:
    """The whole page.  `commands` reproduce it; `beside` is a link to a page that lies beside it."""
    script = "".join((_FOLDER / name).read_text(encoding="utf-8") for name in ("common.js", "page.js"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    parts = {
        "findings": _findings(content),
        "runs": table(content.runs, "Runs"),
        "answers": _answers(content),
        "checked": _checked(content),
        "files": _files(content),
        "again": f"<pre>{inert(chr(10).join(commands))}</pre>",
    }
    parts = {key: text for key, text in parts.items() if text}  # nothing stands below an empty heading
    main = "\n".join(f'<section id="{key}"><h2>{_PARTS[key]}</h2>\n{text}</section>' for key, text in parts.items())
    heading = title or content.subject.title or folder or "Report"
    return Template((_FOLDER / "page.html").read_text(encoding="utf-8")).substitute(
        script_hash=f"sha256-{digest}",
        version=__version__,
        title=inert(heading),
        style=(_FOLDER / "page.css").read_text(encoding="utf-8"),
        origin=_origin(content, folder) + beside,
        summary=summary(content),
        navigation=_navigation(content, parts.keys()),
        first_part=next(iter(parts)),
        main=main,
        footer=f"ScaleLens {__version__}. This page loads nothing from a network.",
        script=script,
    )


def _origin(content: Content, folder: str) -> str:
    """How many files the page is made from, and how many of them were not understood."""
    read = inert(f"{plural(content.files.n_rows, 'file')}{f' in {folder}' if folder else ''}, read by ScaleLens.")
    unknown = f"{content.n_unknown:,} of them {'was' if content.n_unknown == 1 else 'were'} not understood"
    if content.n_unknown == content.files.n_rows:
        unknown = "It was not understood" if content.n_unknown == 1 else "None of them was understood"
    return f'{read} <a href="#files">{unknown}</a>.' if content.n_unknown else read


def _navigation(content: Content, shown: Collection[str]) -> str:
    """The index: the parts of the page that are shown, and below `Findings` its questions."""
    questions = "".join(
        f'<li><a href="#{one.name}">{inert(one.question)}</a></li>' for one in content.articles if not one.is_a_remark
    )
    inner = {"findings": f"<ul>{questions}</ul>" if questions else ""}
    return "".join(
        f'<li><a href="#{key}">{words}</a>{inner.get(key, "")}</li>'
        for key, words in _PARTS.items()
        if key == "summary" or key in shown
    )


def _findings(content: Content) -> str:
    """What was found, by weight."""
    found = [article for article in content.articles if not article.is_a_remark]
    return "\n".join(_finding(article, content.headline) for article in found)


def _finding(article: Article, headline: str) -> str:
    figure = ""
    if article.name == headline:
        figure = '<p class="remark link"><a href="#summary">The figure is at the top of this page.</a></p>'
    elif article.chart and article.chart.svg:
        figure = drawing(article, article.name)
    elif article.chart and article.chart.refusal:
        figure = f'<p class="remark">{inert(article.chart.refusal)}</p>'
    return (
        f'<article id="{article.name}"{" class=wrong" if article.changes_conclusions else ""}>'
        f"<h3>{inert(article.question)}</h3>\n{listed(article.sentences)}\n{figure}\n{_evidence(article)}"
        "</article>"
    )


def _evidence(article: Article) -> str:
    """The rows and the SQL of a finding."""
    made_from = f"Of {plural(article.n_inputs, 'file')}; sha256 of their ids: {article.inputs_sha256}"
    sql = f"<pre>{inert(article.table.sql)}</pre><p class=remark>{made_from}</p>"
    return _folded("Table", table(article.table, article.question)) + _folded("SQL", sql)


def listed(sentences: Sequence[FindingSentence]) -> str:
    """The sentences of a finding.  A doubt that they all share comes once, so that the sentences stand out."""
    doubts = [sentence.doubt for sentence in sentences if sentence.doubt]
    shared = doubts[0] if len(doubts) > 1 and len(set(doubts)) == 1 else ""
    items = "".join(
        f'<li>{inert(sentence.text)} <span class="doubt">{inert("" if shared else sentence.doubt)}</span></li>'
        for sentence in sentences
    )
    return f"<ul>{items}</ul>" + (f'<p class="doubt">For each of them: {inert(shared)}</p>' if shared else "")


def _checked(content: Content) -> str:
    """What changes no conclusion: runs that ended, sources that differ, and questions without a finding."""
    if not content.runs.n_rows:
        return ""
    remarks = [article for article in content.articles if article.is_a_remark]
    entries = "".join(
        f'<dt id="{one.name}">{inert(one.question)}</dt><dd>'
        + (f"{listed(one.sentences)}{_evidence(one)}" if one.sentences else inert(one.nothing))
        + "</dd>"
        for one in sorted(remarks, key=lambda one: not one.sentences)
    )
    return f'<dl class="quiet">{entries}</dl>' if entries else ""


def _answers(content: Content) -> str:
    parts, topic = [], ""
    for query, rows in content.answers:
        if query.topic != topic:
            topic = query.topic
            parts.append(f"<h3>{inert(topic.capitalize())}</h3>")
        inner = f'{table(rows, query.title)}<p class="remark">scalelens explain {query.name}</p>'
        parts.append(_folded(inert(query.title), inner))
    return "\n".join(parts)


def _files(content: Content) -> str:
    """All files, and what was not understood."""
    if not content.files.n_rows:
        return "<p>No file was read.</p>"
    problems = table(content.problems, "Lines that were not understood")
    lines = (
        f"<h3>Lines that were not understood</h3>\n{problems}"
        if problems
        else "<p>Every line of a known format was understood.</p>"
        if content.n_unknown < content.files.n_rows
        else ""
    )
    all_files = table(content.files, "All files")
    if not content.counts:  # without a run, what the files are is all there is to read
        return f"{lines}\n{all_files}"
    return f"{lines}\n{_folded('All ' + plural(content.files.n_rows, 'file'), all_files)}"


def _folded(summary: str, inner: str) -> str:
    """A part that opens on a click; it is on paper only where it is open."""
    return f"<details><summary>{summary}</summary>{inner}</details>" if inner else ""
