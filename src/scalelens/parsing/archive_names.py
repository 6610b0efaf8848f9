"""Names of archives, of documents that hold logs, and of their members: `logs.tar.gz!run/rank0.log`."""

from collections.abc import Iterator

_ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.zst", ".tar.xz", ".tar.bz2", ".zip")
_DOCUMENTS = (".json", ".ipynb")  # some of which hold logs; see logs_in_json.py
LOGS_IN_JSON = "logs_in_json"  # what the entry of such a document says that it was read as


def is_archive(path: str) -> bool:
    return path.lower().endswith(_ARCHIVES)


def is_document(path: str) -> bool:
    """Whether a file may be a document of JSON that holds logs, by its name."""
    return path.lower().endswith(_DOCUMENTS)


def is_notebook(path: str) -> bool:
    return path.lower().endswith(".ipynb")


def archives_of(path: str) -> Iterator[str]:
    """What may be the archive, or the document, of a path.  Other names may hold an exclamation mark, too."""
    at = path.find("!")
    while at >= 0:
        if is_archive(path[:at]) or is_document(path[:at]):
            yield path[:at]
        at = path.find("!", at + 1)
