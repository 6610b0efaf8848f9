"""Names of archives and of their members: `logs.tar.gz!run/rank0.log`."""

from collections.abc import Iterator

_ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.zst", ".tar.xz", ".tar.bz2", ".zip")


def is_archive(path: str) -> bool:
    return path.lower().endswith(_ARCHIVES)


def archives_of(path: str) -> Iterator[str]:
    """What may be the archive of a path.  Other names may hold an exclamation mark, too."""
    at = path.find("!")
    while at >= 0:
        if is_archive(path[:at]):
            yield path[:at]
        at = path.find("!", at + 1)
