"""Prints what `make test-oldest` installs: the oldest version of each package that pyproject.toml admits."""

import re
import sys
import tomllib
from pathlib import Path


def minima(pyproject: str) -> list[str]:
    """`name==minimum` of the dependencies, and of the extras that the tests need."""
    project = tomllib.loads(pyproject)["project"]
    needed = [
        *project["dependencies"],
        *(text for name in ("dask", "delta") for text in project["optional-dependencies"][name]),
    ]
    found = {match[1]: match[2] for text in needed if (match := re.match(r"([\w.-]+)>=([\d.]+)", text))}
    return [f"{name}=={version}" for name, version in sorted(found.items())]


if __name__ == "__main__":
    sys.stdout.write("\n".join(minima(Path(sys.argv[1]).read_text(encoding="utf-8"))) + "\n")
