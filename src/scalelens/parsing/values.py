"""Values of logs: numbers and times, from text or JSON; None for what is not one."""

from datetime import datetime, timedelta

EPOCH = datetime(1970, 1, 1)


def nanoseconds_since_1970(stamp: int | datetime) -> int:
    """A time of a sensor, exact; a naive time counts as UTC, which is enough for differences."""
    return stamp if isinstance(stamp, int) else (stamp - EPOCH) // timedelta(microseconds=1) * 1000
