"""NCCL's and RCCL's own lines: version, network, ranks, hosts, devices.

Tool: NCCL, RCCL
Versions: NCCL 2.4 to 2.27 with NCCL_DEBUG=VERSION or INFO
Yields: params
Source: nccl src/init.cc, showVersion() and ncclCommInitRankFunc(); src/debug.cc, ncclDebugLog()

A log holds tens of thousands of such lines: they are counted, not kept.  Of many communicators the largest spans the
job: its ranks are `devices`, its hosts `nodes`, the devices of the fullest host `devices_per_node`; a host is only
known where every rank of that communicator printed its line.  One rank per device is NCCL's rule.  Then `rank_places`
says where each rank is, in their order: host/device, the device as CUDA or HIP numbers it in the process.

Samples:
    n8:101:202 [7] NCCL INFO NCCL version 2.25.1+cuda12.9
    NCCL version 2.7.8+cuda10.2
    n8:101:202 [7] NCCL INFO Using network IBext_v9
    n9:101:202 [4] NCCL INFO comm 0x23b0 rank 12 nranks 16 cudaDev 4 nvmlDev 4 busId 84000 commId 0xfe04 - Init START
    n9:101:202 [4] NCCL INFO comm 0x7f00 rank 0 nranks 8 cudaDev 0 busId 12000 - Init COMPLETE
"""

from collections import Counter

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 2
ANCHORS = ("CCL version ", "CCL INFO Using network ", " nranks ")

_VERSIONS = re.compile(r"\b(N|R)CCL version ?:? ?(\d[\w.+-]*?)(?=[NR]CCL version|[^\w.+-]|$)")
_NETWORK = re.compile(r"CCL INFO Using network (\w[\w -]{0,40}\w)")
_RANK = re.compile(
    r"(?<![\w.-])([\w.-]{1,255}):\d+:\d+ \[\d+\] [NR]CCL INFO .{0,80}?\bcomm 0x[0-9a-f]+"
    r" rank (\d{1,7}) nranks (\d{1,7}) cudaDev (\d{1,3})"
)


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.size = (0, 0)  # ranks of the largest communicator, and the line that says so first
        self.hosts: dict[int, tuple[str, str]] = {}  # of that communicator: host and device by rank
        self.part = 0

    def take(self, line: Line) -> bool:
        if self.part != self.rows.part:
            self.part, self.size, self.hosts = self.rows.part, (0, 0), {}
        if match := _RANK.search(line.text):
            rank, ranks = int(match[2]), int(match[3])
            if rank >= ranks:
                self.rows.problem(line.number, "the rank is not below the number of ranks", line.text)
                return True
            if ranks > self.size[0]:
                self.size, self.hosts = (ranks, line.number), {}
                self.rows.param("nccl_ranks", ranks, line.number, origin="nccl")
            if ranks == self.size[0]:
                self.hosts.setdefault(rank, (match[1], match[4]))
            return True
        if match := _NETWORK.search(line.text):
            self.rows.param("network", match[1], line.number, origin="nccl")
            return True
        versions = _VERSIONS.findall(line.text)
        for kind, version in versions:
            self.rows.param(f"{kind.lower()}ccl_version", version, line.number, origin="nccl")
        return bool(versions)

    def finish(self) -> None:
        ranks, line = self.size
        if self.part != self.rows.part or ranks < 2:
            return
        self.rows.param("devices", ranks, line, origin="nccl")
        hosts = [host for host, _ in self.hosts.values()]
        if len(hosts) == ranks:
            self.rows.param("nodes", len({*hosts}), line, origin="nccl")
            self.rows.param("devices_per_node", max(Counter(hosts).values()), line, origin="nccl")
            places = " ".join("/".join(self.hosts[rank]) for rank in range(ranks))
            self.rows.param("rank_places", places, line, origin="nccl")
