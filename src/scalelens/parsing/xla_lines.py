"""What a line of XLA's profiler holds, by the names of its device or host and of the line."""

from scalelens.parsing import lazy_re as re

_STREAM = re.compile(r"Stream #(\d{1,18})(?!\d)")
_AROUND = re.compile(r"(?:while|conditional|call)(?:\.\d+)*\Z")  # operations made of other operations
_COPY = re.compile(r"(?P<category>memcpy|memset)|Copy(?:Device|Host)To(?:Device|Host)\b", re.IGNORECASE)  # ROCm's last


def place_of(device: str, line: str, name: str) -> tuple[str, int | None]:
    """Category and stream of an event.

    On a device, streams hold work.  Other lines (XLA Modules, Steps, Framework Ops) describe it again, but for `XLA
    Ops` of a TPU, which has no streams: work, but for loops and branches, which stand around theirs.
    """
    if not device.startswith("/device:"):
        return "cpu_op", None
    if stream := _STREAM.match(line):
        copy = _COPY.match(name)
        return (f"gpu_{(copy['category'] or 'memcpy').lower()}" if copy else "kernel"), int(stream[1])
    is_work = line == "XLA Ops" and "TPU" in device and not _AROUND.match(name)
    return ("kernel" if is_work else "gpu_user_annotation"), None
