"""`scalelens audit` against a warehouse: true numbers are never accused, changed ones are found, claims are checked."""

import math
import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import pytest

from logs import megatron_line
from scalelens.ingestion.ingest import ingest
from scalelens.report.audit.finding import Finding
from scalelens.report.audit.reading import document_of
from scalelens.report.audit.warehouse.matching import Auditor
from scalelens.report.audit.warehouse.measures import SHARE
from scalelens.report.audit.warehouse.text import findings_of
from scalelens.report.audit.warehouse.values import Known

# How papers call the columns, and the units that they print them in.
PHRASES = {
    "step_s": "median step time", "mean_s": "mean step time", "p95_s": "95th percentile of the step time",
    "p99_s": "99th percentile of the step time", "samples_per_s": "throughput", "tokens_per_s": "token throughput",
    "device_samples_per_s": "throughput per GPU", "node_samples_per_s": "throughput per node",
    "device_tokens_per_s": "token throughput per GPU", "tflops_per_device": "performance per GPU", "speedup": "speedup",
    "efficiency": "parallel efficiency", "mfu": "MFU", "minutes": "time to train", "time_to_target_s": "time to target",
    "first_epoch_s": "time of the first epoch", "later_epoch_s": "time of later epochs", "energy_j": "energy",
    "unit_w": "mean power per device", "unit_wh": "energy per device", "samples_per_wh": "energy efficiency",
    "elbow_s": "step time at the elbow", "goodput": "goodput", "model_tflops": "model performance per GPU",
}  # fmt: skip
UNITS = {
    "s": (("s", 1.0), ("ms", 1e-3), ("min", 60.0)), SHARE: (("%", 0.01), ("", 1.0)), "samples/s": (("samples/s", 1.0),),
    "tokens/s": (("tokens/s", 1.0),), "FLOP/s": (("TFLOP/s", 1e12),), "J": (("Wh", 3600.0), ("kJ", 1000.0)),
    "W": (("W", 1.0), ("kW", 1e3)), "samples/J": (("samples/Wh", 1 / 3600),), "tokens/J": (("tokens/Wh", 1 / 3600),),
}  # fmt: skip
SENTENCES = (
    "With {about}, the {phrase} is {text}.",
    "We measured a {phrase} of {text} for {about}.",
    "The {phrase} reaches {text} ({about}).",
    "In our experiments {about} gave a {phrase} of {text}, which agrees with earlier work.",
)
TRUE, PLANTED = 200, 200


class Said(NamedTuple):
    """A value as a paper says it."""

    known: Known
    digits: str
    unit: str

    @property
    def text(self) -> str:
        return f"{self.digits} {self.unit}".strip() if self.unit != "%" else f"{self.digits} %"


def digits_of(value: float, significant: int) -> str:
    return f"{value:.{max(0, significant - 1 - math.floor(math.log10(abs(value))))}f}"


def said_of(known: Known, draw: random.Random, least: int = 2) -> Said:
    """A value at two to four printed digits, in a unit in which it is no tiny number."""
    units = [pair for pair in UNITS[known.measure.name] if 0.1 <= known.value / pair[1] < 1e5] or UNITS[
        known.measure.name
    ][:1]
    unit, factor = draw.choice(list(units))
    return Said(known, digits_of(known.value / factor, draw.randint(least, 4)), unit)


def about(known: Known) -> str:
    """What tells a row, as a paper says it."""
    facts = known.row.run | {key: value for key, value in known.row.own.items() if value is not None}
    parts = [str(facts[key]) for key in ("benchmark", "system", "name") if facts.get(key)][-2:]
    for key, noun in (("devices", "GPUs"), ("nodes", "nodes")):
        if facts.get(key):
            parts.append(f"{facts[key]} {noun}")
            break
    if facts.get("global_batch_size"):
        parts.append(f"a batch size of {facts['global_batch_size']}")
    return ", ".join(parts)


def quoted_values(auditor: Auditor) -> list[Known]:
    return [known for known in auditor.warehouse.values if known.column in PHRASES and known.value > 0]


def in_prose(said: Said, draw: random.Random) -> str:
    sentence = draw.choice(SENTENCES)
    return sentence.format(about=about(said.known), phrase=PHRASES[said.known.column], text=said.text)


def in_table(many: Iterable[Said]) -> str:
    """A Markdown table: one row for each value, its unit in its cell."""
    rows = [f"| {about(said.known)} | {PHRASES[said.known.column]} | {said.text} |" for said in many]
    return "\n".join(["| run | quantity | value |", "|---|---|---|", *rows])


def judged(text: str, auditor: Auditor, digits: str) -> list[Finding]:
    """Findings about a printed number of a text."""
    found = findings_of(document_of(text, suffix=".md"), auditor)
    return [finding for finding in found if finding.numbers[0].text == digits]


def other_digit(said: Said, draw: random.Random) -> Said:
    """One digit is another one; the first does not become 0."""
    places = [k for k, letter in enumerate(said.digits) if letter.isdigit()]
    place = draw.choice([k for k in places if said.digits[:k].strip("0.") or said.digits[k] != "0"])
    digit = draw.choice([letter for letter in "123456789" if letter != said.digits[place]])
    return said._replace(digits=said.digits[:place] + digit + said.digits[place + 1 :])


def other_unit(said: Said, draw: random.Random) -> Said:
    """The digits of one unit with another unit of the same measure."""
    units = [unit for unit, _ in UNITS[said.known.measure.name] if unit != said.unit]
    return said._replace(unit=draw.choice(units)) if units else said


def other_rounding(said: Said, draw: random.Random) -> Said:
    """The last digit is one or two off."""
    decimals = len(said.digits.partition(".")[2])
    value = float(said.digits) + draw.choice((-2, -1, 1, 2)) * 10**-decimals
    return said._replace(digits=f"{value:.{decimals}f}")


CHANGES: tuple[Callable[[Said, random.Random], Said], ...] = (other_digit, other_unit, other_rounding)


def write_study(folder: Path, draw: random.Random) -> None:
    """Logs of a scaling study: Megatron with a batch of four samples, on 1 to 16 devices, each alike in nothing."""
    for devices in (1, 2, 4, 8, 16):
        step_ms = 4000 / devices**0.9
        header = (
            f"using world size: {devices}, data-parallel size: {devices}, tensor-model-parallel size: 1, "
            "pipeline-model-parallel size: 1\n"
        )
        lines = [megatron_line(step, step_ms * draw.gauss(1, 0.02)) for step in range(1, 120)]
        path = folder / f"gpt-n{devices}" / "job.log"
        path.parent.mkdir(parents=True)
        path.write_text(header + "".join(lines))


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Auditor:
    home = tmp_path_factory.mktemp("study")
    write_study(home / "logs", random.Random(1))
    ingest([home / "logs"], home / "w", jobs=1)
    return Auditor(home / "w")
