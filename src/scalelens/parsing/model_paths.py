"""The name of a model that a training was given as a path."""

from scalelens.parsing import lazy_re as re

_PATH = re.compile(r"(?:/|~|\.{1,2}/|\$)")
_OF_THE_HUB = re.compile(r"models--([^/]+?)--([^/]+)/snapshots/")
# What stands below the name, as a training or a download makes it.
_BELOW = re.compile(
    r"(?:checkpoint|step|iter|epoch|global_step)[-_]?\d+(?:\.\w+)?|(?:final|latest|last|best|merged|hf|main|model|models|out|output"
    r"|outputs|checkpoints?|pretrained|weights|snapshots?|[0-9a-f]{40})(?:\.\w+)?",
    re.IGNORECASE,
)


def model_of_path(text: str) -> str:
    """The name in a path of a file system; any other text as it is, as `org/name` of a hub.

    Two machines keep one model in different places.  A path of nothing but words that name no model stays whole.
    """
    if not _PATH.match(text):
        return text
    if hub := _OF_THE_HUB.search(text):
        return f"{hub[1]}/{hub[2]}"
    parts = [part for part in text.split("/") if part not in ("", ".", "..", "~")]
    named = next((part for part in reversed(parts) if not _BELOW.fullmatch(part)), None)
    return named if named and not named.startswith("$") else text
