"""Write the report: an offline page in a temporary folder, its findings by weight, a picture of its first figure."""

from typing import TYPE_CHECKING, Annotated, Any

import msgspec

if TYPE_CHECKING:
    from scalelens.assistant.desk import Desk, Reply
    from scalelens.report.content import Content

EXAMPLE: dict[str, Any] = {}
LIMIT_S = 600


class Arguments(msgspec.Struct, forbid_unknown_fields=True):
    title: Annotated[str, msgspec.Meta(description="Title of the page.", max_length=200)] = ""


def answer(desk: "Desk", given: Arguments) -> "Reply":
    import tempfile
    from pathlib import Path

    from scalelens.assistant.desk import Reply
    from scalelens.assistant.fitting import fitted_list, short
    from scalelens.report.content import content_of
    from scalelens.report.html import page
    from scalelens.whole_files import write_file

    path = Path(tempfile.mkdtemp(dir=desk.temporary)) / "report.html"
    found = content_of(desk.study.root, query_folders=desk.folders)
    write_file(path, page(found, given.title, ["scalelens report"], desk.study.root.name).encode(errors="replace"))
    articles = [
        {
            "question": article.question,
            "changes_conclusions": article.changes_conclusions,
            "untrusted_sentences": [short(f"{one.text} {one.doubt}".strip()) for one in article.sentences[:4]],
        }
        for article in found.articles
        if article.sentences
    ]
    content = {
        "file": str(path),
        "untrusted_title": short(given.title or found.subject.title or ""),
        "untrusted_numbers": [short([one.value, one.label, one.remark]) for one in found.numbers],
        "findings": articles,
    }
    return Reply(fitted_list(content, "findings", "the page has all of them"), list(_picture(found)))


def _picture(content: "Content") -> list[bytes]:
    """The figure of the first screen, where there is one."""
    import vl_convert

    chart = next((article.chart for article in content.articles if article.name == content.headline), None)
    return [vl_convert.svg_to_png(chart.svg, scale=1.5)] if chart and chart.svg else []
