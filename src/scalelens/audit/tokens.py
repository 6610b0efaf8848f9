"""The words by which a text names a quantity: in small letters, without links, plural endings and common words."""

import re
from functools import lru_cache

_LINKED = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_TAG = re.compile(r"<[^>]*>|https?://\S+")
_WORD = re.compile(r"[a-z]+\d*[a-z0-9]*|\d+[a-z]+\w*|\d{2,}")
_ANY_WORD = re.compile(r"[a-z]+\d*[a-z0-9]*|\d+[a-z]+\w*|[\u4e00-\u9fff]|[^\W\d_]+")
_CHARACTERS = re.compile(r"[\u4e00-\u9fff\uac00-\ud7a3]{2,}")
_COMMON = {
    "the", "of", "and", "for", "with", "on", "in", "per", "at", "to", "from", "is", "are", "was", "by", "our", "avg",
    "all", "best", "no", "yes", "vs", "as", "it", "its", "this", "that", "be", "or", "an", "we", "not", "new", "one",
    "two", "first", "last", "after", "before", "total", "sum", "mean", "average", "value", "result", "number", "ours",
}  # fmt: skip


@lru_cache(maxsize=4096)
def tokens(text: str) -> frozenset[str]:
    plain = _TAG.sub(" ", _LINKED.sub(r"\1", text)).lower().replace("_", " ")
    found = {word.rstrip("s") if len(word) > 3 else word for word in _WORD.findall(plain)}
    return frozenset(word for word in found if len(word) > 1 and word not in _COMMON)


@lru_cache(maxsize=4096)
def with_characters(text: str) -> frozenset[str]:
    """The words of a text, and of Chinese and Korean each two characters that follow one another."""
    pairs = {run[k : k + 2] for run in _CHARACTERS.findall(text) for k in range(len(run) - 1)}
    return tokens(text) | pairs


@lru_cache(maxsize=4096)
def in_order(text: str) -> tuple[str, ...]:
    """All words of a text, common ones too, in their order."""
    words = _ANY_WORD.findall(text.lower().replace("_", " "))
    return tuple(word.rstrip("s") if len(word) > 3 else word for word in words)
