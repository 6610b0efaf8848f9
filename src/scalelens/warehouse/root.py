"""Where a warehouse is: a folder, or a prefix in an S3 bucket."""

from os import PathLike
from pathlib import Path, PosixPath

_S3 = "s3:"


class BucketPath(PosixPath):
    """`s3://bucket/prefix`.  A Path would print it with one slash and resolve it below the current folder."""

    def __str__(self) -> str:
        return super().__str__().replace("s3:/", "s3://", 1)

    def resolve(self, strict: bool = False) -> "BucketPath":
        return self


DEFAULT_WAREHOUSE = "scalelens-warehouse"


def root_of(named: str | PathLike[str]) -> Path:
    """The warehouse that a user names."""
    path = Path(named)
    return BucketPath(path) if path.parts[:1] == (_S3,) else path
