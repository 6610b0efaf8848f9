"""Readable errors of S3.  Arrow raises the same kind of error for all of them, with the code of AWS in its text."""

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from scalelens.errors import UserError
from scalelens.warehouse.files import io_errors_explained

_FAULTS = {
    r"NO_SUCH_BUCKET|Bucket '.*' not found": ("there is no such bucket", "make it, or give -w another one"),
    r"ACCESS_DENIED|ACCESS_KEY|CLIENT_TOKEN|SIGNATURE|Expired|HTTP status 403": (
        "access is denied", "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_PROFILE, and what they may do"
    ),
    r"NETWORK_CONNECTION": ("the server cannot be reached", "check the network, AWS_ENDPOINT_URL and the region"),
}  # fmt: skip


@contextlib.contextmanager
def s3_errors_explained(root: Path, copies: Path) -> Iterator[None]:
    """Turns errors of S3 and of the folder with copies into a UserError, except FileNotFoundError."""
    try:
        yield
    except FileNotFoundError:
        raise
    except (OSError, pa.ArrowException) as error:
        if isinstance(error, OSError) and error.errno is not None:
            with io_errors_explained(copies):
                raise
        reason, remedy = _fault_of(str(error))
        raise UserError(f"{root} cannot be written or read ({reason})", remedy) from None


def _fault_of(error: str) -> tuple[str, str]:
    """What is wrong according to the text of an Arrow error, and what to do about it."""
    for pattern, fault in _FAULTS.items():
        if re.search(pattern, error):
            return fault
    return error.splitlines()[0], "run the same command again: what was committed is kept"
