"""Launches and work that only flow events tie together: each arrow `ac2g` goes from a call of the host to its work.

Kineto writes both ends of an arrow at the start of the event that they belong to, on its process and thread.
"""

import pyarrow as pa

from scalelens.parsing.chrome_trace import LAUNCHES, Flow, Trace
from scalelens.parsing.source import Source
from scalelens.parsing.trace_events import EventColumns, microseconds_as_nanoseconds, text_of
from scalelens.parsing.values import json_integer

# Calls that launch, and what they launch: an operator of the same start has no part in it.
_CATEGORIES = {
    "cuda_runtime", "cuda_driver", "privateuse1_runtime", "privateuse1_driver", "xpu_runtime", "kernel", "gpu_memcpy",
    "gpu_memset",
}  # fmt: skip

_End = tuple[str | None, str | None, int]  # process, thread, nanoseconds


class FlowLinks:
    """The arrows of a trace: which events are at the ends of one."""

    def __init__(self, source: Source) -> None:
        self.arrow_of: dict[_End, int] = {}
        for items in Trace(source, flows=True).slices(LAUNCHES):
            flows = [item for item in items if isinstance(item, Flow) and item.cat == "ac2g"]
            starts, known = microseconds_as_nanoseconds([flow.ts for flow in flows], exact=False)
            for flow, start, is_known in zip(flows, starts.tolist(), known.tolist(), strict=True):
                arrow = json_integer(flow.id)
                if is_known and arrow is not None:
                    self.arrow_of[text_of(flow.pid), text_of(flow.tid), start] = arrow

    def correlations(self, columns: EventColumns, base: int) -> pa.Array:
        """For each event the arrow that begins or ends at it, as the number that links launch and work."""
        starts = (columns["start_ns"].to_numpy() - base).tolist()
        ends = zip(columns["process"].to_pylist(), columns["thread"].to_pylist(), starts, strict=True)
        categories = columns["category"].to_pylist()
        return pa.array(
            [
                self.arrow_of.get(end) if category in _CATEGORIES else None
                for end, category in zip(ends, categories, strict=True)
            ],
            pa.int64(),
        )
