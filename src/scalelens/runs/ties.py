"""What ties contents together: two of them can be of one run only where one seeks what the other offers.

So when some files change, only the runs of contents that are tied to them, directly or over others, can change.  A tie
too many costs time alone; one too few would give a wrong run: each rule of `joining` and `captures` has its tie here.
"""

import posixpath
import zlib

from scalelens.runs.joining import folders_above, is_sensed, rule_of
from scalelens.runs.run import CHECKPOINT, RESULTS, Part

Ties = tuple[set[int], set[int]]  # what is offered and what is sought, as numbers


def ties_of(part: Part, described_folders: dict[str, str]) -> Ties:
    """What a part offers to others, and what it seeks."""
    rule, key = rule_of(part, described_folders)
    group = f"{rule} {key!r}"
    offers, seeks = {f"folder {part.folder}"}, set[str]()
    if rule == "result":
        seeks |= {f"job {part.root} {part.job_id}", *(f"beside {folder}" for folder in folders_above(part.path))}
    else:
        offers.add(group)
        seeks.add(group)
    if part.job_id:
        offers.add(f"job {part.root} {part.job_id}")
    if rule == "workpackage":
        offers.add(f"beside {posixpath.dirname(str(key))}")
    if {"steps", "phases"} & set(part.facts.rows):
        offers.add(f"log {posixpath.splitext(part.path)[0]}")
    if not part.facts.steps and not part.facts.traced:
        seeks |= sought_by_leftover(part)
    return numbers(offers | offered_to_captures(part)), numbers(seeks | sought_as_twin(part) | sought_as_capture(part))


def sought_by_leftover(part: Part) -> set[str]:
    """Where `attach_leftovers` looks for the run of a file that has none of its own."""
    upper, name = posixpath.split(part.folder)
    above = {f"folder {upper}"} if is_sensed(part) else set()
    return above | {f"folder {part.folder}", f"log {upper}/{name}", f"log {posixpath.dirname(upper)}/{name}"}


def sought_as_twin(part: Part) -> set[str]:
    """Where `Part.twin` looks for the file that a part repeats."""
    if checkpoint := CHECKPOINT.match(part.path):
        return {f"folder {checkpoint[1].rstrip('/')}", f"checkpoints of {checkpoint[1]}"}
    return {f"folder {part.folder}"} if part.path.endswith(".log.json") or RESULTS.match(part.path) else set()


def offered_to_captures(part: Part) -> set[str]:
    """What `captures` look for: ranks that log their steps and times; and a checkpoint for other checkpoints."""
    offers = {f"ranked {part.root}"} if part.facts.steps and part.ranks and part.facts.ended_at else set()
    checkpoint = CHECKPOINT.match(part.path)
    return offers | ({f"checkpoints of {checkpoint[1]}"} if checkpoint else set())


def sought_as_capture(part: Part) -> set[str]:
    is_capture = set(part.facts.steps) == {"None"} and part.facts.started_at and part.facts.ended_at
    return {f"ranked {part.root}"} if is_capture else set()


def numbers(texts: set[str]) -> set[int]:
    """Texts as numbers that are the same in every process.  Two texts of one number are a tie too many."""
    return {zlib.crc32(text.encode(errors="surrogatepass")) for text in texts}
