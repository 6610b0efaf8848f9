"""The files of a warehouse in an S3 bucket, and a folder on this machine with copies of them.

The bucket is the warehouse.  A file appears there complete or not at all and never changes, so a copy is valid as long
as the bucket lists its file: records are copied when the warehouse is opened, segments when a question needs them.  A
writer uploads segments and then the record, which is the commit.  Different bytes never get the same name, because the
name contains their digest or a random number.  S3 must list what was uploaded just before, as AWS, MinIO and Ceph do.
"""

import contextlib
import functools
import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath

from pyarrow import fs

from scalelens.errors import UserError
from scalelens.folders import cache_folder
from scalelens.warehouse.files import ABANDONED_S, FileStatus, LocalFiles, temporary_in
from scalelens.warehouse.readers import Reading
from scalelens.warehouse.records import digest
from scalelens.warehouse.root import BucketPath
from scalelens.warehouse.s3_faults import s3_errors_explained

_REQUESTS_AT_ONCE = 8
_CHUNK = 8 << 20  # bytes per request
_COPIED = (".json", ".parquet")


class Bucket(LocalFiles):
    """The files of a warehouse in a bucket, with local copies."""

    def __init__(self, root: BucketPath) -> None:
        if not re.match(r"[\w.-]+(\?|$)", "".join(root.parts[1:2])):
            remedy = "write s3://bucket/prefix, and set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
            raise UserError("s3:// needs the name of a bucket, and no credentials", remedy)
        super().__init__(_copies_of(str(root)))
        self.root = root
        with self.explained():
            self.s3, self.prefix = _file_system(str(root))
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # others must not read what is in the bucket
            super().create([self.folder / "_log", self.folder / "segments"])

    def create(self, folders: Iterable[Path]) -> None:
        with self.explained():
            for folder in folders:
                self.s3.create_dir(self.key(folder))

    def check_commits(self, folder: Path) -> None:
        """An object appears whole or not at all."""

    def reading(self) -> Reading:
        """Readers have copies on this machine, which stay."""
        return Reading(None)

    def remove_segments(self, names: Iterable[str]) -> None:
        self.remove(self.folder / "segments", names)

    def held_back(self) -> set[str]:
        return set()

    def exists(self, folder: Path) -> bool:
        return folder.name in self.names(folder.parent)

    def names(self, folder: Path) -> list[str]:
        """Names in a folder.  Removes copies of what is gone from it, and of what `compact` erased."""
        copies = self.copies_in(folder)  # before the bucket is listed: what is copied meanwhile stays
        names = [file.base_name for file in self.infos(folder)]
        if gone := copies - {*names}:
            super().remove(folder, gone)
            segments, cache = self.folder / "segments", self.folder / "_cache"
            super().remove(segments, self.copies_in(segments) - self.listed(segments).keys())
            super().remove(cache, super().names(cache))
        return names

    def copies_in(self, folder: Path) -> set[str]:
        return {name for name in super().names(folder) if name.endswith(_COPIED) and not name.startswith(".")}

    def infos(self, folder: Path) -> list[fs.FileInfo]:
        with self.explained():
            try:
                infos: list[fs.FileInfo] = self.s3.get_file_info(fs.FileSelector(self.key(folder)))
            except FileNotFoundError:
                infos = []
            return infos

    def listed(self, folder: Path) -> dict[str, FileStatus]:
        files = (file for file in self.infos(folder) if file.is_file)
        return {file.base_name: FileStatus(file.size, file.mtime_ns) for file in files}

    def clock_ns(self, folder: Path) -> int:
        path = temporary_in(folder)
        self.write_once(b"", path)
        try:
            with self.explained():
                return int(self.s3.get_file_info(self.key(path)).mtime_ns)
        finally:
            self.remove(folder, [path.name])

    def write_once(self, content: bytes, final: Path) -> None:
        with self.explained(), self.s3.open_output_stream(self.key(final)) as stored:
            stored.write(content)

    def publish(self, temporary: Path, final: Path) -> None:
        self.put(temporary, final)
        super().publish(temporary, final)  # last: a file with its final name here also has it in the bucket

    def put(self, path: Path, final: Path) -> None:
        with self.explained(), path.open("rb") as file, self.s3.open_output_stream(self.key(final)) as stored:
            shutil.copyfileobj(file, stored, _CHUNK)

    def remove(self, folder: Path, names: Iterable[str]) -> None:
        def remove_one(name: str) -> None:
            with self.explained(), contextlib.suppress(FileNotFoundError):
                self.s3.delete_file(self.key(folder / name))

        names = [*names]
        _at_once(remove_one, names)
        super().remove(folder, names)

    def keep_young(self, paths: Iterable[Path]) -> None:
        """Uploads files again that were uploaded long ago: a bucket has no other way to make them look new."""
        for path in paths:
            if time.time() - path.stat().st_mtime > ABANDONED_S / 2:
                self.put(path, path)

    def fetch(self, folder: Path, names: Iterable[str]) -> None:
        here = self.copies_in(folder)
        _at_once(lambda name: self.copy(folder / name), (name for name in names if name not in here))

    def copy(self, path: Path) -> None:
        with self.downloaded(path) as temporary, contextlib.suppress(FileNotFoundError):
            os.replace(temporary, path)

    @contextlib.contextmanager
    def downloaded(self, path: Path) -> Iterator[Path]:
        """A file of the bucket under a temporary name, which does not exist if the bucket has no such file."""
        temporary = temporary_in(path.parent)
        try:
            with (
                self.explained(),
                contextlib.suppress(FileNotFoundError),
                self.s3.open_input_stream(self.key(path), compression=None) as stored,
                temporary.open("wb") as file,
            ):
                shutil.copyfileobj(stored, file, _CHUNK)
            yield temporary
        finally:
            temporary.unlink(missing_ok=True)

    def drop_copies(self, folder: Path) -> None:
        super().remove(folder, self.copies_in(folder))

    def fault_of(self, path: Path, fault_in: Callable[[Path], str | None]) -> str | None:
        with self.downloaded(path) as original:
            fault = fault_in(original)
            if not fault and path.exists():
                os.replace(original, path)  # the copy itself may be damaged
        return fault

    def key(self, path: Path) -> str:
        return str(PurePosixPath(self.prefix, path.relative_to(self.folder)))

    def explained(self) -> contextlib.AbstractContextManager[None]:
        return s3_errors_explained(self.root, self.folder)


def _at_once(act: Callable[[str], None], names: Iterable[str]) -> None:
    """Calls a function for many names, several at a time."""
    pool = ThreadPoolExecutor(_REQUESTS_AT_ONCE)
    try:
        for _ in pool.map(act, names):
            pass
    finally:
        pool.shutdown(cancel_futures=True)


@functools.cache
def _file_system(uri: str) -> tuple[fs.S3FileSystem, str]:
    """The file system of a URI, and the bucket with the prefix.  Cached: finding out the region takes a request."""
    system, prefix = fs.FileSystem.from_uri(uri)
    return system, prefix


def _copies_of(uri: str) -> Path:
    """The folder with the copies of a warehouse; without them a question only takes longer."""
    address = f"{os.environ.get('AWS_ENDPOINT_URL', '')} {uri}"
    return cache_folder() / f"s3-{digest(address.encode())}"
