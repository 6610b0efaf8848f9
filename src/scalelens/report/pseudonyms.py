"""Who and where: names of users, hosts, accounts, jobs and folders in texts, and what stands for them.

A name is known where a column or a variable says what it is; it is then replaced wherever it stands as a word.  What
no column and no variable names is not found: a person's name in a title, a project in a file's name.
"""

import re
from collections.abc import Iterable

_WORD = r"([A-Za-z][\w.-]{1,63})"
_IS = r"\s?[=:]\s?['\"]?"
_SAYS = {  # kinds of names, by what stands before them
    "users": rf"(?:\b(?:USER|LOGNAME|USERNAME|SLURM_JOB_USER|UserId){_IS}|/(?:home|users|Users|homes)/){_WORD}",
    "accounts": rf"(?:\b(?:SLURM_JOB_ACCOUNT|SBATCH_ACCOUNT|Account){_IS}|--account[= ]|#SBATCH -A ){_WORD}",
    "hosts": rf"\b(?:HOSTNAME|SLURMD_NODENAME|SLURM_SUBMIT_HOST|BatchHost|MASTER_ADDR){_IS}{_WORD}",
    "jobs": rf"\b(?:SLURM_JOB_?ID|SLURM_ARRAY_JOB_ID|PBS_JOBID|LSB_JOBID|JobId){_IS}(\d{{3,12}})\b",
}
_KEYS = {  # of params
    "users": ("user", "user_name", "username", "logname"),
    "accounts": ("account", "slurm_job_account", "project_account"),
    "hosts": ("host", "hostname", "host_name", "node", "node_name", "node_list", "nodelist"),
    "jobs": ("job_id", "slurm_job_id", "array_job_id"),
}
_KIND_OF_KEY = {key: kind for kind, keys in _KEYS.items() for key in keys}
_ANYWHERE = {  # names that tell by themselves what they are
    "mail addresses": r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64})+",
    "addresses": r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w.])",
    "hosts": r"\b[A-Za-z][A-Za-z_-]{0,30}\d{0,6}\[\d{1,9}[,-][\d,-]{1,200}\]",  # nid[001-004]
}
_STANDS_FOR = {
    "users": "user",
    "accounts": "account",
    "hosts": "host",
    "mail addresses": "mail",
    "addresses": "address",
}
_FIRST_JOB = 1_000_001  # a job keeps being a number, which is found in names of files
_NO_NAMES = {"localhost", "unknown", "none", "node", "host", "gpu", "cpu", "root", "user", "null", "rank"}
_PATH = re.compile(r"(?<![\w.:/~-])/(?:[\w.+@%=~-]+/)+[\w.+@%=~-]*")


def kind_of_key(key: str) -> str | None:
    """What the value of a setting names, by the last part of its key."""
    return _KIND_OF_KEY.get(key.lower().rpartition(".")[2])


class Pseudonyms:
    """What stands for each name.  The same names always get the same."""

    def __init__(self, roots: Iterable[str] = ()) -> None:
        self.names: dict[str, set[str]] = {kind: set() for kind in (*_SAYS, *_ANYWHERE)}
        self.folders = {root.rstrip("/"): "" for root in sorted(roots) if root.strip("/")}
        self._other_paths: dict[str, str] = {}

    def add(self, kind: str, name: str) -> None:
        for part in re.split(r"[,\s]+(?![\d,-]*\])", name.strip()):
            if len(part) > 2 and part.lower() not in _NO_NAMES and (kind == "jobs" or not part.isdigit()):
                self.names[kind].add(part)

    def learn(self, text: str) -> None:
        """Takes the names that a text says."""
        for kind, pattern in _SAYS.items():
            for found in re.finditer(pattern, text):
                self.add(kind, found[1].rstrip(".-"))
        for kind, pattern in _ANYWHERE.items():
            self.names[kind].update(re.findall(pattern, text))

    def settle(self) -> None:
        """Gives each name what stands for it; no name is learned afterwards."""
        self.folders = {root: f"/path-{k}" for k, root in enumerate(self.folders, 1)}
        known: dict[str, str] = {}
        for kind, names in self.names.items():
            for k, name in enumerate(sorted(names - known.keys())):
                known[name] = str(_FIRST_JOB + k) if kind == "jobs" else f"{_STANDS_FOR[kind]}-{k + 1}"
        self._known = known
        longest_first = sorted(known, key=len, reverse=True)
        words = "|".join(map(re.escape, longest_first))
        self._words = re.compile(rf"(?<![A-Za-z0-9])(?:{words})(?![A-Za-z0-9])") if words else None

    def text(self, text: str) -> str:
        """A text with pseudonyms."""
        plain = _PATH.sub(self._path, text) if "/" in text else text
        return self._words.sub(lambda found: self._known[found[0]], plain) if self._words else plain

    def _path(self, found: re.Match[str]) -> str:
        path = found[0]
        for root in sorted(self.folders, key=len, reverse=True):
            if path == root or path.startswith(f"{root}/"):
                return self.folders[root] + path[len(root) :]
        number = len(self.folders) + len(self._other_paths) + 1
        return self._other_paths.setdefault(path, f"/path-{number}")

    def summary(self) -> str:
        """What was replaced, in words."""
        counts = {kind: len(names) for kind, names in self.names.items()}
        counts["paths"] = len(self.folders) + len(self._other_paths)
        return ", ".join(f"{count:,} {kind}" for kind, count in counts.items() if count) or "nothing"
