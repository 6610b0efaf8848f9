"""`scalelens audit` against a warehouse: true numbers are never accused, changed ones are found, claims are checked."""

import math
import random
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from conftest import CORPUS, ROOT
from logs import megatron_line
from scalelens.audit.finding import Finding
from scalelens.audit.reading import document_of
from scalelens.audit.warehouse.matching import Auditor
from scalelens.audit.warehouse.measures import SHARE
from scalelens.audit.warehouse.text import findings_of
from scalelens.audit.warehouse.values import KnownValue
from scalelens.ingestion.ingest import ingest

if TYPE_CHECKING:
    from command_line import Run

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

    known: KnownValue
    digits: str
    unit: str

    @property
    def text(self) -> str:
        return f"{self.digits} {self.unit}".strip() if self.unit != "%" else f"{self.digits} %"


def digits_of(value: float, significant: int) -> str:
    return f"{value:.{max(0, significant - 1 - math.floor(math.log10(abs(value))))}f}"


def said_of(known: KnownValue, draw: random.Random, least: int = 2) -> Said:
    """A value at two to four printed digits, in a unit in which it is no tiny number."""
    units = [pair for pair in UNITS[known.measure.name] if 0.1 <= known.value / pair[1] < 1e5] or UNITS[
        known.measure.name
    ][:1]
    unit, factor = draw.choice(list(units))
    return Said(known, digits_of(known.value / factor, draw.randint(least, 4)), unit)


def about(known: KnownValue) -> str:
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


def quoted_values(auditor: Auditor) -> list[KnownValue]:
    return [known for known in auditor.known.values if known.column in PHRASES and known.value > 0]


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


# A warehouse of generated logs, and those of real ones


def write_study(folder: Path, draw: random.Random, sizes: Sequence[int] = (1, 2, 4, 8, 16)) -> None:
    """Logs of a scaling study as Megatron prints them, the first two steps ten times as long."""
    for devices in sizes:
        step_ms = 4000 / devices**0.9
        times = [step_ms * draw.gauss(1, 0.02) * (10 if step < 3 else 1) for step in range(1, 120)]
        path = folder / f"gpt-n{devices}" / "job.log"
        path.parent.mkdir(parents=True)
        path.write_text(
            f"using world size: {devices}, data-parallel size: {devices}, tensor-model-parallel size: 1, "
            "pipeline-model-parallel size: 1\n" + "".join(megatron_line(k, time) for k, time in enumerate(times, 1))
        )
    (folder / "scalelens.toml").write_text('[facts]\nmodel = "gpt-small"\n')


def auditor_of(logs: Path, home: Path) -> Auditor:
    ingest([logs], home / "w", jobs=1)
    return Auditor(home / "w")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the logs of a study; its warehouse is `w`."""
    home = tmp_path_factory.mktemp("study")
    write_study(home / "logs", random.Random(1))
    return home


@pytest.fixture(scope="module")
def study(home: Path) -> Auditor:
    return auditor_of(home / "logs", home)


SLOW = [pytest.param(folder, marks=pytest.mark.slow) for folder in ("vision", "mlperf_v3.0")]


@pytest.fixture(scope="module", params=["llm", *SLOW])
def real(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Auditor:
    if not CORPUS.is_dir():
        pytest.skip("no corpus of real files beside the project")
    return auditor_of(CORPUS / request.param, tmp_path_factory.mktemp("real"))


# True numbers are not accused


def check_true_numbers(auditor: Auditor, seed: int) -> None:
    """Of true numbers, in prose and in tables, none is stale, and nearly all that have digits enough are reproduced."""
    draw = random.Random(seed)
    many = [said_of(known, draw) for known in draw.choices(quoted_values(auditor), k=TRUE)]
    for texts in ([in_prose(said, draw) for said in many], [in_table([said]) for said in many]):
        kinds: Counter[str] = Counter()
        for text, said in zip(texts, many, strict=True):
            found = judged(text, auditor, said.digits)
            assert found, text
            assert [finding.sentence for finding in found if finding.kind == "stale"] == [], text
            kinds[found[0].kind] += 1
        assert kinds["reproduced"] >= 0.8 * TRUE


def test_true_numbers_of_a_generated_study_are_not_accused(study: Auditor) -> None:
    check_true_numbers(study, 1)


def test_true_numbers_of_real_logs_are_not_accused(real: Auditor) -> None:
    check_true_numbers(real, 2)


def test_a_table_of_true_numbers_is_not_accused(study: Auditor) -> None:
    rows = {
        known.row.run["devices"]: known
        for known in study.known.values
        if (known.row.query, known.column) == ("scaling", "step_s")
    }
    lines = [
        f"| {devices} | {known.value * 1000:.0f} | {known.row.own['samples_per_s']:.2f} |"
        for devices, known in sorted(rows.items())
    ]
    text = "\n".join(["| GPUs | step time [ms] | samples/s |", "|---|---|---|", *lines])
    kinds = Counter(finding.kind for finding in findings_of(document_of(text, suffix=".md"), study))
    assert len(rows) == 5 and kinds == {"reproduced": 15}


@pytest.mark.slow
def test_result_tables_of_mlperf_are_not_accused(tmp_path: Path) -> None:
    if not CORPUS.is_dir():
        pytest.skip("no corpus of real files beside the project")
    auditor = auditor_of(CORPUS / "mlperf_v3.0", tmp_path)
    scores = [known for known in auditor.known.values if known.column == "minutes"]
    rows = [f"| {k.row.own['system']} | {k.row.own['benchmark']} | {k.value / 60:.2f} |" for k in scores]
    text = "\n".join(["| system | benchmark | time to train [min] |", "|---|---|---|", *rows])
    found = findings_of(document_of(text, suffix=".md"), auditor)
    kinds = Counter(finding.kind for finding in found if finding.numbers[0].unit == "min")
    assert len(scores) == 12 and kinds == {"reproduced": 12}


# Changed numbers are found


def can_see(said: Said, auditor: Auditor) -> bool:
    """Whether the warehouse can tell that the digits are wrong: they are three or more, and no other value of its run."""
    size = dict(UNITS[said.known.measure.name])[said.unit]
    near = 0.51 * 10 ** -len(said.digits.partition(".")[2])
    return len(said.digits.replace(".", "").lstrip("0")) >= 3 and not any(
        abs(known.value / size - float(said.digits)) <= near
        for known in auditor.known.values
        if known.row.run is said.known.row.run and known.measure.name == said.known.measure.name
    )


def planted(auditor: Auditor, seed: int) -> Counter[str]:
    """Kinds of the findings about changed numbers that the warehouse can see, of runs whose name no other has."""
    draw, kinds = random.Random(seed), Counter[str]()
    counts = Counter(run["name"] for run in auditor.known.runs.values())
    values = [known for known in quoted_values(auditor) if counts[known.row.run.get("name")] == 1]
    for _ in range(5 * PLANTED):
        said = said_of(draw.choice(values), draw, least=3)
        wrong = draw.choice(CHANGES)(said, draw)
        text = in_table([wrong]) if draw.randrange(2) else in_prose(wrong, draw)
        if wrong != said and can_see(wrong, auditor) and kinds.total() < PLANTED:
            kinds.update(finding.kind for finding in judged(text, auditor, wrong.digits)[:1])
    return kinds


def test_changed_numbers_of_a_generated_study_are_found(study: Auditor) -> None:
    kinds = planted(study, 1)
    assert kinds.total() == PLANTED and kinds["stale"] >= 0.9 * PLANTED, kinds


@pytest.mark.parametrize("real", ["llm", SLOW[0]], indirect=True)  # results of MLPerf share their names
def test_changed_numbers_of_real_logs_are_found(real: Auditor) -> None:
    kinds = planted(real, 1)
    assert kinds.total() == PLANTED and kinds["stale"] >= 0.9 * PLANTED, kinds


RATIO = "From {few} to {many} GPUs the throughput rises {ratio} times."


def ratio_of(auditor: Auditor, few: int, many: int) -> float:
    rates = {
        known.row.run["devices"]: known.value
        for known in auditor.known.values
        if (known.row.query, known.column) == ("scaling", "samples_per_s")
    }
    return rates[many] / rates[few]


def test_a_ratio_of_two_rows_is_reproduced_and_a_wrong_one_found(study: Auditor) -> None:
    sizes = [(few, many) for few in (1, 2, 4, 8) for many in (2, 4, 8, 16) if few < many]
    draw, kinds = random.Random(1), Counter[str]()
    for few, many in sizes:
        digits = f"{ratio_of(study, few, many):.2f}"
        text = RATIO.format(few=few, many=many, ratio=digits)
        assert [finding.kind for finding in judged(text, study, digits)] == ["reproduced"], text
        wrong = other_digit(Said(study.known.values[0], digits, ""), draw).digits
        text = RATIO.format(few=few, many=many, ratio=wrong)
        kinds.update(finding.kind for finding in judged(text, study, wrong))
    assert kinds["stale"] >= 0.9 * len(sizes), kinds


# Single rules


def only(text: str, auditor: Auditor, digits: str) -> Finding:
    (finding,) = judged(text, auditor, digits)
    return finding


def value_of(auditor: Auditor, query: str, column: str, devices: int, **parameters: str) -> float:
    values = auditor.other_values if parameters else auditor.values
    return next(
        known.value
        for known in values
        if (known.row.query, known.column, known.row.run.get("devices")) == (query, column, devices)
        and known.row.parameters == parameters
    )


def test_a_number_under_other_exclusions_is_stale_and_says_which(study: Auditor) -> None:
    mean = value_of(study.known, "batch_stats", "mean_s", 8, exclude="none")
    finding = only(f"On 8 GPUs the mean step time of gpt-n8 is {mean:.4f} s.", study, f"{mean:.4f}")
    assert finding.kind == "stale"
    assert finding.sentence.endswith("the number is batch_stats(exclude := 'none').mean_s")


@pytest.mark.parametrize(
    "words", ["with nothing left out", "with exclude=none", "warm-up included", "over all 119 steps"]
)
def test_a_text_that_leaves_nothing_out_has_the_numbers_of_all_steps(words: str, study: Auditor) -> None:
    mean = value_of(study.known, "batch_stats", "mean_s", 8, exclude="none")
    found = only(f"The mean step time of gpt-n8, {words}, is {mean:.4f} s.", study, f"{mean:.4f}")
    assert (found.kind, found.evidence) == ("reproduced", "SELECT mean_s FROM batch_stats(exclude := 'none')")
    wrong = 1.2 * mean
    assert only(f"The mean step time of gpt-n8, {words}, is {wrong:.4f} s.", study, f"{wrong:.4f}").kind != "reproduced"


def test_two_digits_without_words_that_fit_are_untraceable(study: Auditor) -> None:
    step = value_of(study.known, "batch_stats", "step_s", 8)
    assert only(f"It took {step:.2f} s.", study, f"{step:.2f}").kind == "untraceable"
    assert only(f"The step time is {step:.1f} s.", study, f"{step:.1f}").kind == "untraceable"
    assert only(f"The step time of gpt-n8 is {step:.3f} s.", study, f"{step:.3f}").kind == "reproduced"


def test_either_rounding_of_a_5_and_a_cut_digit(study: Auditor) -> None:
    step = value_of(study.known, "batch_stats", "step_s", 8)
    cut = f"{math.floor(step * 1000) / 1000:.3f}"
    finding = only(f"The step time of gpt-n8 is {cut} s.", study, cut)
    assert finding.kind == ("stale" if step * 1000 % 1 > 0.5 else "reproduced")


def test_a_hedged_number_is_not_accused(study: Auditor) -> None:
    step = 1.05 * value_of(study.known, "batch_stats", "step_s", 8)
    for words, kind in (
        ("The step time of gpt-n8 is about {} s.", "untraceable"),
        ("The expected step time of gpt-n8 is {} s.", "untraceable"),
        ("As expected, the step time of gpt-n8 is {} s, in line with expectations.", "stale"),
    ):
        assert only(words.format(f"{step:.3f}"), study, f"{step:.3f}").kind == kind, words


@pytest.mark.parametrize(
    "words", ["The data loading time per step", "The forward pass of a step", "The standard deviation of the step time"]
)
def test_a_quantity_that_no_query_has_is_not_accused(words: str, study: Auditor) -> None:
    step = 1.05 * value_of(study.known, "batch_stats", "step_s", 8)
    text = "{} of gpt-n8 is {} s."
    assert only(text.format(words, f"{step:.3f}"), study, f"{step:.3f}").kind == "untraceable"
    assert only(text.format("The step time", f"{step:.3f}"), study, f"{step:.3f}").kind == "stale"


def test_a_count_is_a_fact_of_runs(study: Auditor) -> None:
    assert only("We trained on 16 GPUs.", study, "16").kind == "reproduced"
    assert only("We trained on 24 GPUs.", study, "24").kind == "untraceable"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("on 8 and 64 GPUs", {"devices": {8, 64}}),
        ("from 1 to 16 nodes", {"nodes": {1, 16}}),
        ("GPUs: 8; step time [ms]; ms", {"devices": {8}}),
        ("a node has 8 GPUs per node", {}),
        ("8-GPU nodes", {}),
        ("0.512 s on one GPU with a batch size of 1,024", {"devices": {1}, "batch": {1024}}),
        ("gpt-n8 and the run `gpt-n16`", {"name": {"gpt-n8", "gpt-n16"}}),
        ("n8 alone is no name", {}),
    ],
)
def test_what_words_say_of_rows(words: str, said: dict[str, set[object]], study: Auditor) -> None:
    assert {key: set(values) for key, values in study.vocabulary.stated(words).items()} == said


# Claims


def test_claims_that_are_proposed_hold_and_changed_ones_do_not(
    study: Auditor, home: Path, tmp_path: Path, run: "Run"
) -> None:
    step, root = value_of(study.known, "batch_stats", "step_s", 8), home / "w"
    text, claims = tmp_path / "paper.md", tmp_path / "claims.toml"
    text.write_text(f"We trained much.\nThe step time of gpt-n8\non 8 GPUs is {step:.3f} s, which is short.\n")
    assert run("audit", text, "-w", root, "--write", claims).code == 0
    assert claims.read_text() == f'"gpt-n8 on 8 GPUs is {step:.3f} s" = "batch_stats.step_s[run=\'gpt-n8\']"\n'
    assert run("audit", text, "-w", root, "--claims", claims).code == 0
    written = claims.read_text()
    assert run("audit", text, "-w", root, "--write", claims).code == 0 and claims.read_text() == written
    claims.write_text(
        written + '"which is short" = "batch_stats.step_s[run=\'gpt-n8\']"\n"no" = "batch_stats.step_s"\n'
    )
    text.write_text(text.read_text().replace(f"{step:.3f}", f"{step * 1.02:.3f}"))
    failed = run("audit", text, "-w", root, "--claims", claims)
    assert failed.code == 1
    for part in ("the text has no such sentence", "has no number in s", "0 of 3 claims hold"):
        assert part in failed.out + failed.err


# The page


def test_the_page_shows_what_its_commands_print(run: "Run", tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs" / "audit.md").read_text().partition("## Against a warehouse")[2]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    ingest([ROOT / "src" / "scalelens" / "demo" / "logs"], tmp_path / "demo-output" / "warehouse", jobs=1)
    text, _, printed, _, claims, _ = (block.partition("\n")[2] for block in page.split("```")[1::2])
    Path("paper.md").write_text(text)
    commands = [shlex.split(line)[1:] for line in re.findall(r"^scalelens audit paper\.md.*", page, re.MULTILINE)]
    shown, written, checked = (run(*command) for command in commands)
    assert (shown.code, written.code, checked.code) == (1, 1, 0)
    assert shown.out == printed and Path("claims.toml").read_text() == claims
