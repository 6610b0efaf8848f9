"""What jpwr writes into names: of a file the host and the rank, of a column the sensor."""

from collections.abc import Iterable

from scalelens.parsing import lazy_re as re
from scalelens.parsing.sensors import whole_packages

_SCOPE_OF_METHOD = {"pynvml": "gpu", "rocm": "gcd", "gc": "ipu"}
_GRACE_HOPPER = ("module", "grace", "cpu", "sysio")
_FILE = r"\b(?:power|energy|energy[-_]from[-_]counter)\."
_NAMED_FILE = re.compile(_FILE + r"([\w.-]+)\.\d+\.(?:csv|h5)\Z")
_RANKED_FILE = re.compile(_FILE + r"(\d{1,6})(?:\.[\w.-]*[A-Za-z][\w.-]*\.\d+)?\.(?:csv|h5)\Z")
_OF_A_RANK = re.compile(r"(?:(?:\d+|None|[A-Za-z_-]*(?:rank|task|proc)[-_]?\d+)\.)*(?=[\w-]*[A-Za-z])")


def jpwr_scopes(labels: Iterable[str], powered: Iterable[str]) -> dict[str, str | None]:
    """What the sensor of each of jpwr's devices covers, by its label; `powered` are those that give power at all."""
    labels = list(labels)
    packages = whole_packages([label for label in labels if label.startswith("rocm:") or label.isdecimal()], powered)
    scopes: dict[str, str | None] = {}
    for label in labels:
        method, _, what = label.partition(":")
        named = next((scope for scope in _GRACE_HOPPER if scope in what.lower()), None)
        scopes[label] = "oam" if label in packages else named if method == "gh" else _SCOPE_OF_METHOD.get(method)
    return scopes


def jpwr_host(name: str) -> str | None:
    """The host in a name that jpwr gives: power.HOST.PID.csv, power.SUFFIX.HOST.PID.h5, where SUFFIX is of a rank."""
    match = _NAMED_FILE.search(name)
    if not match:
        return None
    host = match[1][rank.end() :] if (rank := _OF_A_RANK.match(match[1])) else ""
    return host or None


def jpwr_rank(name: str) -> int | None:
    """The rank in a name that jpwr gives with --use-mpi, power.RANK.csv, or with a suffix that is a number."""
    match = _RANKED_FILE.search(name)
    return int(match[1]) if match else None
