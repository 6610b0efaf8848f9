"""Pages of ScaleLens that lie beside each other link to each other."""

from pathlib import Path

_HEAD_BYTES = 2000
_OURS = b'<meta name="generator" content="scalelens '
_WORDS = {"explore": "Look around in the rows", "report": "To the report"}


def link_to(name: str, page: Path) -> str:
    """A link to `name`.html in the folder of `page`, where that is a page of ScaleLens; else nothing."""
    other = page.with_name(f"{name}.html")
    try:
        with other.open("rb") as file:
            is_ours = _OURS in file.read(_HEAD_BYTES)
    except OSError:
        return ""
    return f' <a class="link" href="{name}.html">{_WORDS[name]}</a>' if is_ours and other.name != page.name else ""
