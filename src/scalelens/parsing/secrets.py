"""Masks tokens and passwords while files are read: a warehouse is shared, and a dump of the environment in it must not
share its owner's accounts.

What is masked looks like a token of a known service, or is the value of a variable whose name says so.  Secrets
of other forms are not found.
"""

from scalelens.parsing import lazy_re as re

_MASK = "***"
_TOKEN = re.compile(
    r"\b(?:hf_[A-Za-z0-9]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|sk-[\w-]{20,}"
    r"|xox[abprs]-[\w-]{10,}|A[KS]IA[0-9A-Z]{16}|AIza[\w-]{30,}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{5,})"
)
_NAME = re.compile(r"(?:[A-Z0-9]{1,40}_){0,8}(?:API_?KEY|TOKEN|SECRET|PASSWORD|PASSWD|ACCESS_KEY|PRIVATE_KEY)")
_SIGN = r"['\"]?\s{0,4}[=:]\s{0,4}['\"]?"
_ASSIGNMENT = re.compile(rf"(?<![A-Za-z0-9_])({_NAME.pattern})({_SIGN})([\w./+~-]{{8,}}={{0,2}})")
_VALUE = re.compile(r"[\w./+=~-]{8,}")
_SHORTEST = len("TOKEN=12345678")  # no other secret that is found has fewer letters


def masked(text: str) -> str:
    """A text without secrets; the names of variables stay."""
    if len(text) < _SHORTEST:
        return text
    return _ASSIGNMENT.sub(rf"\1\2{_MASK}", _TOKEN.sub(_MASK, text))


def masked_value(key: str, value: str) -> str:
    """The value of a setting, masked where its name says that it is secret."""
    if _VALUE.fullmatch(value) and _NAME.fullmatch(key.rpartition(".")[2]):
        return _MASK
    return masked(value)
