"""HDF5 files whose numbers are in them: none that lie elsewhere, or are only said to be there."""

from typing import Any

MAGIC = b"\x89HDF\r\n\x1a\n"
_MOST_UNPACKED = 10  # how many times its bytes a table may have that was packed
_BYTES_OF_NUMBER = 4  # at least: tools write 8, some 4


class Stored:
    """Datasets of a group, as long as the file has bytes for them."""

    def __init__(self, group: Any, size_bytes: int) -> None:
        self.group, self.left_bytes = group, size_bytes * _MOST_UNPACKED

    def array(self, name: str) -> Any:
        """A dataset as an array.  Raises ValueError where it must not be read."""
        dataset = own_member(self.group, name)
        if dataset.external or dataset.is_virtual:
            raise ValueError(f"{name} is in another file")
        packed = dataset.id.get_create_plist().get_nfilters() > 0
        held_bytes = dataset.id.get_storage_size() * (_MOST_UNPACKED if packed else 1)
        self.left_bytes -= dataset.nbytes if packed else dataset.nbytes * _MOST_UNPACKED
        if dataset.nbytes > held_bytes or self.left_bytes < 0:
            raise ValueError(f"{name} has more numbers than the file has bytes for")
        return dataset[()]

    def numbers(self, name: str) -> Any | None:
        """The numbers of a dataset; None where it holds something else, such as pickled text."""
        kind = own_member(self.group, name).dtype
        return self.array(name) if kind.kind in "iuf" and kind.itemsize >= _BYTES_OF_NUMBER else None

    def names(self, name: str) -> list[str]:
        if own_member(self.group, name).dtype.kind != "S":
            raise ValueError(f"{name} holds no names")
        return [text.decode("utf-8", "replace") for text in self.array(name).tolist()]


def own_member(group: Any, name: str) -> Any:
    """A member of a group.  A link could lead to any file that the reader may read, and is not followed."""
    import h5py  # 15 MB of memory that few folders need

    if not isinstance(group.get(name, getlink=True), h5py.HardLink):
        raise ValueError(f"{name} is a link, or is not there")
    return group[name]
