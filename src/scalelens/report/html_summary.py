"""The first screen of a report as HTML: what it is about, four numbers, one figure, what changes a conclusion."""

import re
from collections.abc import Sequence

from scalelens.report.articles import Article
from scalelens.report.content import Content
from scalelens.report.html_tables import inert
from scalelens.report.text.commands import in_warehouse
from scalelens.report.text.sentences import FindingSentence, KeyNumber, plural

_MOST_WARNINGS = 2
_MOST_SENTENCES = 3  # of an answer without a figure
_ENDS = ("failures",)
_LONGEST_LINE = 100  # characters of a line of a log within a sentence
_UNKNOWN = "Not in the logs"
_EMPTY = re.compile(r' role="graphics-symbol" aria-roledescription="[a-z]+ mark container"(?=/>)')
_ID = re.compile(r'(\bid="|url\(#|href="#)')


def summary(content: Content) -> str:
    """The first screen.  Its figure is the first answer that can be drawn, else words; its warnings weigh most."""
    shown = _shown(content)
    warns = any(article.changes_conclusions for article in content.articles)
    answer = _answer(shown) if shown else ""
    return (
        f"{_facts(content)}\n{_numbers(content.numbers)}\n"
        f'<div class="first{"" if answer else " alone"}">{answer}\n'
        f'<div class="warnings{"" if warns else " none"}"><h2>What changes a conclusion</h2>'
        f"{_warnings(content)}</div></div>"
    )


def drawing(article: Article, name: str) -> str:
    """The SVG of a chart, and a smaller one for narrow screens.  It scrolls where neither fits, by keys as well."""
    assert article.chart
    wide, narrow = _in_a_page(article.chart.svg, name), _in_a_page(article.chart.narrow, f"{name}-narrow")
    shown = f'<div class="wide">{wide}</div><div class="narrow">{narrow}</div>' if narrow else wide
    return f'<figure tabindex="0" role="group" aria-label="{inert(f"Figure: {article.question}")}">{shown}</figure>'


def _in_a_page(svg: str, name: str) -> str:
    """A drawing that keeps its ids to itself, and whose empty groups are no pictures without a name."""
    return _ID.sub(lambda found: f"{found[1]}{name}-", _EMPTY.sub("", svg))


def _facts(content: Content) -> str:
    """What the logs say they are about; what they do not say is named, in one entry."""
    known = {name: text for name, text in content.subject.facts.items() if text}
    unknown = ", ".join(name.lower() for name in content.subject.facts if name not in known)
    entries = [f"<div><dt>{inert(name)}</dt><dd>{inert(text)}</dd></div>" for name, text in known.items()]
    if unknown:
        entries.append(f"<div><dt>{_UNKNOWN}</dt><dd class=unknown>{inert(unknown)}</dd></div>")
    return f'<dl class="facts">{"".join(entries)}</dl>'


def _numbers(numbers: Sequence[KeyNumber]) -> str:
    tiles = "".join(
        f"<div><dt>{inert(one.label)}</dt><dd><strong>{inert(one.value)}</strong>"
        f"<span>{inert(one.remark)}</span></dd></div>"
        for one in numbers
    )
    return f'<dl class="numbers">{tiles}</dl>'


def _shown(content: Content) -> Article | None:
    """The article with the figure; without one the first answer, or else how the runs ended."""
    for article in content.articles:
        if article.name == content.headline:
            return article
    answers = [article for article in content.articles if article.sentences and not article.changes_conclusions]
    answers.sort(key=lambda article: article.is_minor)
    return next((article for article in answers if not article.is_minor or article.name in _ENDS), None)


def _answer(article: Article) -> str:
    # What changes a conclusion is said next to the figure.
    figure = drawing(article, "first") if article.chart and article.chart.svg else ""
    said = article.sentences[: 1 if figure else _MOST_SENTENCES]
    message = "" if article.changes_conclusions else "".join(f"<p>{inert(sentence.text)}</p>" for sentence in said)
    more = f'<p class="remark link"><a href="#{article.name}">All about this</a></p>'
    return f'<div class="answer"><h2>{inert(article.question)}</h2>{message}{figure}{more}</div>'


def _warnings(content: Content) -> str:
    """The heaviest sentence of each finding that changes a conclusion, of the first two."""
    changing = [article for article in content.articles if article.changes_conclusions]
    if not changing:
        return f"<p>{inert(_nothing(content))}</p>"
    items = "".join(
        f'<li>{inert(sentence.text)} <span class="doubt">{inert(sentence.doubt)}</span> '
        f'<a class="link" href="#{article.name}">More</a></li>'
        for article, sentence in ((article, _heaviest(article)) for article in changing[:_MOST_WARNINGS])
    )
    rest = len(changing) - _MOST_WARNINGS
    more = f'<p class="remark">{rest} more below.</p>' if rest > 0 else ""
    return f"<ul>{items}</ul>{more}"


def _heaviest(article: Article) -> FindingSentence:
    return max(article.sentences, key=lambda sentence: sentence.weight)


def _else(content: Content) -> str:
    return "else " if _shown(content) else ""


def _unread(content: Content) -> str:
    """That lines were not read which look like those of a training, with the first of them."""
    if not (unread := content.unread):
        return ""
    files = plural(unread.n_files, "file")
    has = "has" if unread.n_files == 1 else "have"
    return (
        f"{files} {has} lines that look like training and are not read, such as line {unread.line:,} of {unread.file}: "
        f"“{_shortened(unread.text)}”. "
    )


def _shortened(text: str) -> str:
    """A line of a log within a sentence."""
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST_LINE else f"{text[:_LONGEST_LINE]}…"


def _nothing(content: Content) -> str:
    """What was looked at, where nothing was found."""
    if not content.counts:
        files = plural(content.files.n_rows, "file")
        return (
            f"No run was found in {files}, so there is nothing to conclude. {_unread(content)}"
            "Files says what each of them is."
        )
    if not any(article.sentences and not article.is_minor for article in content.articles):
        metrics = (
            f" They have {plural(content.n_metrics, 'metric')}: "
            + in_warehouse('scalelens sql "SELECT run_id, name, value FROM metrics"', content.place)
            if content.n_metrics
            else ""
        )
        times = f"only {plural(content.n_times, 'step time')}" if content.n_times else "no step times"
        found = f"{times}, no power and no traces"
        if content.n_power:
            found = f"{times}, no traces, and no time of their {plural(content.n_power, 'power reading')}"
        return (
            f"The logs contain {found}, so there is nothing {_else(content)}to conclude. {_unread(content)}"
            f"What each question would need is listed under Also checked.{metrics}"
        )
    return (
        "Nothing was found that changes a result by 3 % or more. What was checked, and what could not be, is listed "
        "under Also checked."
    )
