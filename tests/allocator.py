"""A caching allocator as simple as it can be, which writes snapshots as PyTorch does."""

import random
from typing import Any

SEGMENT, ROUNDING = 1 << 20, 512
Frame = dict[str, Any]


def stack(site: str, line: int) -> list[Frame]:
    """Frames of an allocation in a function of the program, the innermost first."""
    torch = "/env/lib/python3.12/site-packages/torch/nn/modules/linear.py"
    return [
        {"name": "operator new", "filename": "??", "line": 0},
        {"name": "forward", "filename": torch, "line": 125},
        {"name": site, "filename": "/home/user/model.py", "line": line},
        {"name": "main", "filename": "/home/user/train.py", "line": 7},
    ]


class Allocator:
    """Blocks in segments; each request takes the first free block that is large enough, and splits it."""

    def __init__(self, recorded: int = 1 << 30, timed: bool = True) -> None:
        self.blocks: dict[int, dict[str, Any]] = {}  # in use, by address
        self.segments: dict[int, int] = {}  # size by address
        self.history: list[dict[str, Any]] = []
        self.recorded, self.timed = recorded, timed  # most entries that are kept
        self.seen: list[tuple[int, int]] = []  # bytes asked for and reserved, after each entry
        self.owners: list[dict[str, int]] = []  # bytes of each site, after each entry
        self.is_recording = True
        self.microseconds = 1_700_000_000_000_000

    def note(self, action: str, address: int, size: int, frames: list[Frame] | None = None) -> None:
        self.microseconds += 10
        entry = {"action": action, "addr": address, "size": size, "stream": 0, "frames": frames or []}
        if action == "oom":
            entry["device_free"] = entry.pop("addr")
        if not self.is_recording:
            return
        self.history.append(entry | ({"time_us": self.microseconds} if self.timed else {}))
        self.seen.append((sum(block["requested_size"] for block in self.blocks.values()), sum(self.segments.values())))
        owners: dict[str, int] = {}
        for block in self.blocks.values():
            owners[block["site"]] = owners.get(block["site"], 0) + block["requested_size"]
        self.owners.append(owners)

    def free_blocks(self, segment: int) -> list[tuple[int, int]]:
        """Address and size of what is free in a segment, in order."""
        found, at = [], segment
        end = segment + self.segments[segment]
        used = sorted(address for address in self.blocks if segment <= address < end)
        for address in [*used, end]:
            if address > at:
                found.append((at, address - at))
            at = address + (self.blocks[address]["size"] if address in self.blocks else 0)
        return found

    def allocate(self, requested: int, site: str, line: int) -> int:
        size = -(-requested // ROUNDING) * ROUNDING
        free = [(at, n) for segment in sorted(self.segments) for at, n in self.free_blocks(segment) if n >= size]
        if not free:
            address = 0x7F0000000000 + len(self.history) * 4 * SEGMENT + sum(self.segments.values())
            self.segments[address] = max(SEGMENT, size)
            self.note("segment_alloc", address, self.segments[address])
            free = [(address, self.segments[address])]
        address = free[0][0]
        self.blocks[address] = {
            "address": address, "size": size, "requested_size": requested, "state": "active_allocated", "site": site,
            "frames": stack(site, line) if self.is_recording else [],
        }  # fmt: skip
        self.note("alloc", address, requested, stack(site, line))
        return address

    def free(self, address: int) -> None:
        requested = self.blocks[address]["requested_size"]
        self.note("free_requested", address, requested)
        del self.blocks[address]
        self.note("free_completed", address, requested)

    def empty_cache(self) -> None:
        for address, size in list(self.segments.items()):
            if self.free_blocks(address) == [(address, size)]:
                del self.segments[address]
                self.note("segment_free", address, size)

    def snapshot(self, device: int = 0) -> dict[str, Any]:
        segments = []
        for address, size in sorted(self.segments.items()):
            free = [{"address": at, "size": n, "requested_size": 0, "state": "inactive", "frames": []}
                    for at, n in self.free_blocks(address)]  # fmt: skip
            used = [{key: value for key, value in block.items() if key != "site"} for at, block in self.blocks.items()
                    if address <= at < address + size]  # fmt: skip
            in_use = sum(block["size"] for block in used)
            segments.append({
                "device": device, "address": address, "total_size": size, "allocated_size": in_use, "active_size": in_use,
                "stream": 0, "segment_type": "large", "segment_pool_id": (0, 0), "is_expandable": False,
                "blocks": sorted(free + used, key=lambda block: block["address"]),
            })  # fmt: skip
        traces = [[] for _ in range(device)] + [self.history[-self.recorded :]]
        return {"segments": segments, "device_traces": traces, "allocator_settings": {}}


def random_snapshots(seed: int, requests: int = 200, **settings: Any) -> Allocator:
    """An allocator after so many requests of all sizes, of which half were given back, and what it held before."""
    rng, allocator = random.Random(seed), Allocator(**settings)
    allocator.is_recording = False
    held = [allocator.allocate(rng.randrange(1, 50_000), "before", 1) for _ in range(rng.randrange(4))]
    allocator.is_recording = True
    for _ in range(requests):
        if held and rng.random() < 0.45:
            allocator.free(held.pop(rng.randrange(len(held))))
        else:
            site = rng.choice(["embed", "attention", "mlp"])
            held.append(allocator.allocate(int(2 ** rng.uniform(4, 18)), site, 10 + len(site)))
        if rng.random() < 0.05:
            allocator.empty_cache()
    return allocator
