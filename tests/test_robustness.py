"""What no tool meant to write: damage, encodings, launcher prefixes, compression.  Nothing of it raises or is passed over.

Every fixture of every format goes through the same body; a new format is held to it by having a fixture.
"""

import bz2
import csv
import gzip
import io
import lzma
import random
import re
import subprocess
import sys
import tarfile
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import FIXTURES, as_dicts
from logs import megatron_line
from scalelens.ingestion import formats
from scalelens.ingestion.recognize import read_rows
from scalelens.parsers import energy_lines
from scalelens.parsing.archives import open_members
from scalelens.parsing.console_tables import DAYS
from scalelens.parsing.dispatch import Line, clean
from scalelens.parsing.format_file import name_of
from scalelens.parsing.launcher_prefixes import SRUN_CUT
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import CHUNK, FED, Source, open_source
from scalelens.tables import SCHEMAS
from spread import by_day_and_at_night, spread

LOADED = formats.load()
OF_LINES = {name_of(module) for module in LOADED.of_lines}
OF_FORMATS = OF_LINES | {name_of(module) for module in LOADED.of_files}
FILES = sorted(
    path
    for path in FIXTURES.glob("*/*")
    if path.parent.name in OF_FORMATS
    and path.suffix != ".status"
    and not (path.suffix == ".csv" and path.name.count(".") > 1)
)
LATER = {name_of(module): getattr(module, "LATER", ()) for module in LOADED.of_lines}
TEXTS = [path for path in FILES if path.parent.name in OF_LINES]
CONTENTS = {f"{path.parent.name}/{path.name}": path.read_bytes() for path in FILES}

# A defect of a parser leaves this sentence instead of an exception.
DEFECT = re.compile(r"^the format \w+ failed at ")


class Result(NamedTuple):
    """What a file gave."""

    status: str
    note: str | None
    tables: dict[str, list[dict[str, Any]]]
    counted: int

    @property
    def problems(self) -> list[str]:
        return [row["reason"] for row in self.tables.get("problems", [])]

    def without(self, *columns: str) -> dict[str, list[dict[str, Any]]]:
        """Rows without some of their columns."""
        return {
            table: [{key: value for key, value in row.items() if key not in columns} for row in rows]
            for table, rows in self.tables.items()
        }

    def before(self, line: int, *left_out: str) -> list[Any]:
        """Rows of the lines before one."""
        return [
            (table, {key: value for key, value in row.items() if key not in left_out})
            for table, rows in self.tables.items()
            for row in rows
            if row["line"] is not None and row["line"] < line
        ]


class InBlocks(Source):
    """A source whose reader gets blocks of another size than usual."""

    block = CHUNK

    def chunks(self, size: int = CHUNK) -> Iterator[bytes]:
        return super().chunks(self.block)


def read(
    content: bytes,
    name: str = "job.log",
    block: int = CHUNK,
    looked_at: Collection[str] = tuple(SCHEMAS),
    formats: formats.Formats | None = None,
) -> Result:
    """All rows of a file of these bytes, or those of the tables that are looked at."""
    source = InBlocks(name, io.BytesIO(content), len(content), 0)
    source.block = block
    return read_source(source, looked_at, formats)


def read_source(
    source: Source, looked_at: Collection[str] = tuple(SCHEMAS), formats: formats.Formats | None = None
) -> Result:
    tables: dict[str, list[dict[str, Any]]] = defaultdict(list)
    rows = Rows("f", lambda table, batch: table in looked_at and tables[table].extend(as_dicts(batch)))
    status, note = read_rows(source, formats or LOADED, rows)
    rows.flush()
    for table in tables.values():
        for row in table:  # so that NaN equals NaN
            row.update([(key, repr(value)) for key, value in row.items() if value != value])
    return Result(status, note, dict(tables), sum(rows.problems_by_format.values()))


def in_lines(content: bytes) -> list[bytes]:
    return re.findall(rb"[^\n]*\n|[^\n]+", content)  # a carriage return ends no line: progress bars share one


def _named(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def each_text(function: Callable[..., None]) -> Callable[..., None]:
    """The test for the fixtures that are texts of lines: an eighth of each format by day, and at least one."""
    return pytest.mark.parametrize("path", spread(TEXTS, _named, function.__name__, share=8))(function)


def each_file(function: Callable[..., None]) -> Callable[..., None]:
    """The test for all fixtures: an eighth of each format by day, and at least one."""
    return pytest.mark.parametrize("path", spread(FILES, _named, function.__name__, share=8))(function)


def by_day(name: str, count: int, of: int) -> pytest.MarkDecorator:
    """So many of the ways to change a file are tried by day, others for each file, and all at night."""
    return by_day_and_at_night(name, [count], [of])


# Damage


@st.composite
def damaged(draw: st.DrawFn) -> tuple[str, bytes]:
    """A fixture, or two interleaved, with bytes flipped, cut out, put in and doubled; and its name."""
    name = draw(st.sampled_from(sorted(CONTENTS)))
    content = CONTENTS[name]
    if draw(st.booleans()):
        other = CONTENTS[draw(st.sampled_from(sorted(CONTENTS)))]
        content = interleaved(draw(st.randoms(use_true_random=False)), content, other)
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, max(len(content) - 1, 0)))
        to = at + draw(st.integers(0, 200))
        content = draw(
            st.sampled_from(
                [
                    content[:at] + bytes([draw(st.integers(0, 255))]) + content[at + 1 :],
                    content[:at] + content[to:],
                    content[:at],
                    content[at:],
                    content[:at] + content[at:to] * 2 + content[to:],
                    content[:at] + draw(NONSENSE) + content[at:],
                    numbers_replaced(content, at, draw(NUMBERS)),
                ]
            )
        )
    return name, content


NONSENSE = st.binary(max_size=8) | st.sampled_from(
    [
        b"\n",
        b"\r",
        b"\0" * 9,
        b"\x1b[1m",
        b"  3: ",
        b"[default1]:",
        b"[1,2]<stdout>:",
        b'"',
        b"{",
        b"[" * 300,
        b"\\ud800",
        b"|",
    ]
)
NUMBERS = st.sampled_from(
    [
        b"9" * 30,
        b"9" * 400,
        b"9" * 5000,
        b"-1",
        b"nan",
        b"inf",
        b"1e999",
        b"1e-999",
        b"1.2.3",
        b".",
        b"0x1f",
        b"\xd9\xa3",
        b"",
        b"0",
    ]
)


def interleaved(chance: random.Random, one: bytes, other: bytes) -> bytes:
    """Lines of two files as two processes write them into one: mixed, some without their line break."""
    sides = [in_lines(one), in_lines(other)]
    mixed = []
    while any(sides):
        side = chance.choice([side for side in sides if side])
        line = side.pop(0)
        mixed.append(line.rstrip(b"\r\n") if chance.random() < 0.1 else line)
    return b"".join(mixed)


def numbers_replaced(content: bytes, at: int, number: bytes) -> bytes:
    """The first number behind a place becomes another one."""
    return content[:at] + re.sub(rb"\d+", lambda _: number, content[at:], count=1)


@settings(max_examples=500, deadline=None, derandomize=True, database=None)
@given(damaged())
def test_damage_never_raises_and_is_counted(case: tuple[str, bytes]) -> None:
    name, content = case
    result = read(content, name, looked_at=("problems",))
    assert not [reason for reason in result.problems if DEFECT.match(reason)]
    assert len(result.problems) == result.counted
    if result.status == "ok":
        assert not result.problems
    else:
        assert result.problems or result.note or result.status == "empty"


@by_day("places_tried", 1, of=8)
@pytest.mark.parametrize("name", spread(CONTENTS, str, "every number", share=8))
def test_every_number_may_be_anything(name: str, places_tried: int) -> None:
    content = CONTENTS[name]
    chance = random.Random(name)
    places = [found.start() for found in re.finditer(rb"\d+", content)]
    for number in (b"9" * 30, b"9" * 5000, b"-1", b"nan", b"1e999", b"1.2.3", b""):
        for at in chance.sample(places, min(places_tried, len(places))):
            result = read(numbers_replaced(content, at, number), name, looked_at=("problems",))
            assert not [reason for reason in result.problems if DEFECT.match(reason)], (number, at)


# Bars whose times rest on all of their drawings, or which are read once a dictionary came, or if nothing else has times.
BARS = {
    f"{name}.log"
    for name in (
        "bar_of_folds_above_the_training",
        "evaluations_between_single_steps",
        "behind_a_bar",
        "late_dictionaries",
        "several_trainings",
        "trial_first",
        "version4",
        "with_times",
    )
}
CUMULATIVE = {"energy_lines/codecarbon.log"}  # of each number only the last reading counts
# Rows of nccl-tests with NCCL's lines within: they begin on one line and end on a later one.
BROKEN_ROWS = {
    "rllib.log",
    "broken_rows_mpirun.log",
    "broken_rows_srun.log",
    "broken_rows_mixed.log",
    "debug_output_within.log",
}


@by_day("cuts", 6, of=40)
@each_text
def test_cut_at_any_byte_keeps_the_rows_of_whole_lines(path: Path, cuts: int) -> None:
    content = path.read_bytes()
    whole = read(content)
    # The second record says how many steps the first one is a mean of; what a run is called is known at its end.
    # A format may say which columns its next line can still fill in.
    later = ("averaged_steps", "value_kind", *LATER.get(path.parent.name, ()))
    for at in random.Random(path.name).sample(range(len(content) + 1), min(cuts, len(content) + 1)):
        cut = read(content[:at])
        lines = (content[:at] + b"|").split(b"\n")  # a carriage return ends no line
        last = len(lines)
        while last > 1 and len(lines[last - 2]) > 1024:  # one that srun cut
            last -= 1
        known = [row for row in cut.before(last, *later) if row[0] != "params"]
        expected = [row for row in whole.before(last, *later) if row[0] != "params"]
        if path.name in BROKEN_ROWS:  # a cut makes a problem of a row that further lines complete, never another number
            known = [row for row in known if row[0] != "problems"]
            expected = [row for row in expected if row[0] != "problems"][: len(known)]
        if f"{path.parent.name}/{path.name}" in LOOPS and "power" not in cut.tables:
            expected = [row for row in expected if row[0] != "power"]
        if f"{path.parent.name}/{path.name}" in CUMULATIVE:
            known, expected = ([row for row in rows if row[0] != "energy"] for rows in (known, expected))
        if path.name in BARS:
            known, expected = ([row for row in rows if not is_of_a_bar(*row)] for rows in (known, expected))
        assert known == expected, f"cut at byte {at}"


def is_of_a_bar(table: str, row: dict[str, Any]) -> bool:
    """Whether a row is of a step that only a bar told."""
    return table == "steps" and row.get("loss") is None and row.get("samples_per_s") is None


def test_a_number_that_no_column_can_hold_is_a_problem_and_its_row_stays() -> None:
    record = megatron_line(7).replace("       7/", "9" * 30 + "/").encode()
    result = read(record + megatron_line(8).encode())
    assert [row["step"] for row in result.tables["steps"]] == [None, 8]
    assert "the table steps cannot hold this value of step" in result.problems
    assert result.status == "partial"


@each_text
def test_facts_in_words_are_nothing_to_reckon_with(path: Path) -> None:
    mllog = ':::MLLOG {"namespace": "", "time_ms": 1, "event_type": "POINT_IN_TIME", "key": "%s", "value": "%s"}\n'
    facts = ("global_batch_size", "max_sequence_length", "number_of_ranks")
    words = "".join(mllog % (fact, word) for fact in facts for word in ("None", "1e400", "4k")).encode()
    result, plain = read(words + path.read_bytes()), read(path.read_bytes())
    assert result.problems == plain.problems
    assert len(result.tables.get("steps", ())) == len(plain.tables.get("steps", ()))


def test_a_stray_zero_costs_no_more_than_its_line() -> None:
    content = "".join(megatron_line(step) for step in range(1, 9)).encode()
    holed = content[:700] + b"\0" + content[701:]
    assert len(read(holed).tables["steps"]) >= 7


def test_a_hole_of_zeros_is_passed() -> None:
    hole = b"\0" * 70_000  # what a node that crashed, or a truncated log, leaves
    result = read(megatron_line(1).encode() + hole + megatron_line(2).encode() + megatron_line(3).encode())
    assert [row["step"] for row in result.tables["steps"]] == [1, 2, 3]
    assert [row["step"] for row in read(hole + b"\n" + megatron_line(2).encode()).tables["steps"]] == [2]


@pytest.mark.parametrize("filling", [b"\n", b" ", b"no training yet\n", "\u00fc\u2026\n".encode()])
def test_the_first_useful_line_may_come_late(filling: bytes) -> None:
    filler = filling * (200_000 // len(filling))
    (step,) = read(filler + b"\n" + megatron_line(7).encode()).tables["steps"]
    assert step["line"] == filler.count(b"\n") + 2


@pytest.mark.parametrize(
    ("head", "said"), [(b"SQLite format 3\0\x10\0", "an SQLite database"), (b":W&B\x01\0\x08", "W&B's own record")]
)
def test_records_that_must_be_exported_first_are_named(head: bytes, said: str) -> None:
    result = read(head + b"\0" * 2000, "mlflow.db")
    assert (result.status, result.counted) == ("unknown", 0)
    assert result.note.startswith(said) and "export" in result.note


def test_what_is_not_text_is_said() -> None:
    assert read(bytes(random.Random(1).randbytes(5000))).note == "not text, and not a known file format"
    assert read(b"").status == "empty"
    assert read(b"hello\n").status == "unknown"


# Decoration

# But for dates and energies, which stand within blocks of many tools.
WITHIN_BLOCKS = {*DAYS, *energy_lines.ANCHORS}
ANCHORS = [anchor.encode() for module in LOADED.of_lines for anchor in module.ANCHORS if anchor not in WITHIN_BLOCKS]
NOISE = [
    line.encode() for line in ("\n", "NCCL INFO Channel 00/02\n", "\u00e9\u4e2d | : [] 1/2 \n", "[W] warning: 3 of 4\n")
]
PREFIXED = re.compile(rb"^ *\d+: |^\[\w+\]:|\[\d+,\d+\]<std", re.MULTILINE)


# The summary of another node is told by following directly: nothing else tells it from that of another training.
LOOPS = {
    "gpustat/power.log",
    "nvidia_smi/loop.log",
    "nvidia_smi/windows.log",
    "nvidia_smi/nvitop.log",
    "rocm_smi_table/loop.log",
    "npu_smi/loop.log",
    "npu_smi/two_chips.log",
}  # many tables show that it is one
SUMMARIES_FOLLOW = {
    "hf_trainer/several_trainings.log", "hf_progress/bars.log", "ray_results/train_tables.log", "omnistat/cut.log", *LOOPS,
}  # fmt: skip


@each_text
def test_lines_of_others_change_only_the_numbers_of_lines(path: Path) -> None:
    content = path.read_bytes()
    if f"{path.parent.name}/{path.name}" in SUMMARIES_FOLLOW:
        pytest.skip("lines that must follow each other")
    chance = random.Random(path.name)
    noisy = b""
    for line in in_lines(content):  # not between the lines of a block, which a process prints at once
        whole = len(noisy) - noisy.rfind(b"\n", 0, -1) <= SRUN_CUT  # else srun may have cut the line before
        if whole and any(anchor in line for anchor in ANCHORS) and chance.random() < 0.5:
            noisy += chance.choice(NOISE)
        noisy += line
    assert read(noisy).without("line") == read(content).without("line")


@each_text
def test_lines_of_other_ranks_change_only_the_numbers_of_lines(path: Path) -> None:
    content = path.read_bytes()
    if f"{path.parent.name}/{path.name}" in SUMMARIES_FOLLOW:
        pytest.skip("lines that must follow each other")
    if PREFIXED.search(content):
        pytest.skip("has prefixes of its own")
    chance = random.Random(path.name)
    labelled = [b"3: " + line for line in in_lines(content)]
    noisy = [(b"4: " + chance.choice(NOISE) if chance.random() < 0.5 else b"") + line for line in labelled]
    assert read(b"".join(noisy)).without("line") == read(b"".join(labelled)).without("line")


@each_text
def test_crlf_is_lf(path: Path) -> None:
    content = path.read_bytes().replace(b"\r\n", b"\n")
    crlf = content.replace(b"\n", b"\r\n")
    assert read(crlf).without("text") == read(content).without("text")


ENCODINGS = (
    (b"", "utf-8-sig"), (b"", "utf-16-le"), (b"", "utf-16-be"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"),
)  # fmt: skip


@by_day("encodings", 2, of=len(ENCODINGS))
@each_file
def test_encodings_give_the_same_rows(path: Path, encodings: int) -> None:
    content = path.read_bytes()
    if content.startswith((b"PAR1", b"SQLite format 3")):
        pytest.skip("is no text")
    text = content.decode("utf-8", "replace")
    name = f"{path.parent.name}/{path.name}"
    plain = read(text.encode(), name).tables
    # Without a mark UTF-16 is told by the zeros of letters in ASCII, where the text has none of its own.
    is_told = len(text.encode()) < 1.2 * len(text) and "\0" not in text
    told = [one for one in ENCODINGS if any(one[0]) or one[1] == "utf-8-sig" or is_told]
    for mark, codec in random.Random(name).sample(told, min(encodings, len(told))):
        assert read(mark + text.encode(codec), name).tables == plain, f"{codec} with {mark!r} before it"


# Spreadsheets and pandas


def _written(rows: list[list[str]], delimiter: str = ",", quoting: Literal[0, 1] = csv.QUOTE_MINIMAL) -> bytes:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, quoting=quoting, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def _with_commas(cell: str) -> str:
    return cell.replace(".", ",") if re.fullmatch(r"-?\d+\.\d+", cell) else cell


WRITTEN_AGAIN: dict[str, Callable[[list[list[str]]], bytes]] = {
    "semicolons": lambda rows: _written(rows, ";"),
    "semicolons and decimal commas": lambda rows: _written([[*map(_with_commas, row)] for row in rows], ";"),
    "tabs": lambda rows: _written(rows, "\t"),
    "all quoted": lambda rows: _written(rows, quoting=csv.QUOTE_ALL),
    "an index": lambda rows: _written([[str(k - 1) if k else "", *row] for k, row in enumerate(rows)]),
    "an index with a name": lambda rows: _written(
        [[str(k - 1) if k else "Unnamed: 0", *row] for k, row in enumerate(rows)]
    ),
    "a comma at the end": lambda rows: _written([[*row, ""] for row in rows]),
}
TABLES = [path for path in FILES if path.suffix == ".csv"]
# With lines above the header or below it, and one whose rows have more cells than its header.
NOT_ONE_TABLE = {
    "amd_smi/mi250x.csv", "nvidia_smi_query/iso_comma.csv", "perun_csv/one_run.csv", "power_csv/preamble.csv",
    "power_csv/units_below.csv", "power_gadget/mac.csv", "nvidia_smi_query/below_times.csv", "nsys_stats/several_traces.csv",
    "nsys_stats/rank1_cuda_gpu_trace.csv", "nsys_stats/reports.csv",
}  # fmt: skip


@by_day("ways", 2, of=len(WRITTEN_AGAIN))
@pytest.mark.parametrize("path", spread(TABLES, _named, "written again", share=4))
def test_a_table_that_another_program_wrote_again_gives_the_same_rows(path: Path, ways: int) -> None:
    lines = csv.reader(io.StringIO(path.read_text("utf-8-sig", "replace")), skipinitialspace=True)
    rows = [[cell.strip() for cell in row] for row in lines if row]
    plain = measured(read(_written(rows), path.name))
    is_usual = len(rows[0]) > 1 and not re.search(r"[;\t#]", "".join(rows[0]))
    if not plain or not is_usual or _named(path) in NOT_ONE_TABLE:
        pytest.skip("no plain table of measurements")
    for way in random.Random(path.name).sample([*WRITTEN_AGAIN], ways):
        assert measured(read(WRITTEN_AGAIN[way](rows), path.name)) == plain, way


def measured(result: Result) -> dict[str, list[dict[str, Any]]]:
    """Rows of measurements; an event keeps the cells that no column is for, an index among them."""
    tables = result.without("text", "args")
    return {name: tables[name] for name in ("steps", "phases", "power", "events") if name in tables}


@each_text
def test_the_name_says_nothing(path: Path) -> None:
    assert read(path.read_bytes(), "renamed") == read(path.read_bytes(), path.name)


PREFIXES = {
    "srun -l": "3: ",
    "srun -l, wide": " 3: ",
    "torchrun --tee": "[default3]:",
    "torchrun, role": "[trainer3]:",
    "torchrun, host as the role": "[nid005033:3]:",
    "torchrun, host with a rank": "[gpu-node.cluster0]:",
    "mpirun --tag-output": "[1,3]<stdout>:",
    "mpirun with its time": "Fri Nov 20 10:11:12 2026[1,3]<stdout>:",
    "horovodrun": "[3]<stdout>:",
    "horovodrun with its time": "Tue Sep  8 09:24:20 2026[3]<stderr>:",
    "SageMaker's mpirun": "[1,mpirank:3,algo-1]<stdout>:",
    "c10d": "[rank3]: ",
    "SkyPilot": "(worker3, rank=3, pid=4711, ip=10.0.0.7) ",
    "SkyPilot, its head": "(head, rank=0, pid=4711) ",
    "SkyPilot on one node": "(train-gpt, pid=4711) ",
    "Intel MPI -prepend-rank": "[3] ",
    "pdsh": "nid005033: ",
    "deepspeed's launcher": "10.0.0.7: ",
    "srun -l of torchrun": "1: [default3]:",
    "pdsh of torchrun": "nid005033: [default0]:",
    "mpirun of torchrun": "[1,3]<stdout>:[default0]:",
    "docker compose": "trainer-1   | ",
    "kubectl logs --prefix": "[pod/train-worker-3/pytorch] ",
    "kubectl logs --timestamps": "2026-05-06T07:08:09.125004Z ",
    "containerd": "2026-05-06T07:08:09.125004789Z stdout F ",
    "journald": "May 06 07:08:09 node7 python3[4242]: ",
    "kubectl logs --timestamps of torchrun": "2026-05-06T07:08:09.12500453+02:00 [default3]:",
    "Ray": "(RayTrainWorker pid=4711, ip=10.0.0.7) ",
    "ts": "May  6 07:08:09 ",
    "ts with a date": "2026-05-06 07:08:09.125004 ",
    "srun -l of ts": "3: May 16 07:08:09 ",
}


# `[3] [20/391]` counts epochs in many logs: before another bracket Intel MPI's rank is not told, but for a date's.
AMBIGUOUS = re.compile(rb"^\[(?!\d{4}-\d\d-\d\d)", re.MULTILINE)
# Steps come again in these, or a rate is printed: without a label another rank may have printed them, a rank that is named began anew.
STEPS_AGAIN = {
    "gluon/horovod.log", "hf_trainer/several_trainings.log", "litgpt/pretrain.log", "litgpt/two_nodes.log",
    "llamafactory_log/two_writers.jsonl", "paddleclas/dynamic.log",
    "keras/arrays.log", "keras/one_epoch_of_arrays.log", "keras/samples.log", "keras/samples_by_their_batches.log",
    "ray_results/rllib.log",
    *LOOPS,  # tables of several nodes may stand between each other
}  # fmt: skip


@by_day("launchers", 6, of=len(PREFIXES))
@each_text
def test_prefixes_change_only_rank_and_place(path: Path, launchers: int) -> None:
    content = path.read_bytes()
    if PREFIXED.search(content):
        pytest.skip("has prefixes of its own")
    if f"{path.parent.name}/{path.name}" in STEPS_AGAIN:
        pytest.skip("a label tells more of its records")
    plain = but_ranks(read(content))
    for launcher, prefix in random.Random(path.name).sample([*PREFIXES.items()], launchers):
        if prefix == "[3] " and AMBIGUOUS.search(content):
            continue
        prefixed = b"".join(prefix.encode() + line for line in in_lines(content))
        assert but_ranks(read(prefixed)) == plain, launcher


# Read by their whole text, and not line by line as those of tools are.
OF_WHOLE_TEXTS = [
    path
    for path in FILES
    if path.parent.name in ("column_lines", "generic_lines", "headed_lines", "numbered_lines") and path.suffix == ".log"
]
OWN_TIME_FIRST = {"generic_lines/python_times.log", "generic_lines/stamps_of_containers.log"}


@pytest.mark.parametrize("path", spread(OF_WHOLE_TEXTS, _named, "one label", share=8))
@pytest.mark.parametrize("label", ["0: ", "[default0]:", "[1,0]<stdout>:"])
def test_one_label_changes_only_rank_and_place(path: Path, label: str) -> None:
    """Also in tables and headings, which stand in several lines."""
    content = path.read_bytes()
    if PREFIXED.search(content) or f"{path.parent.name}/{path.name}" in OWN_TIME_FIRST:
        pytest.skip("has prefixes of its own, or times that only stand before a line")
    labelled = b"".join(label.encode() + line for line in in_lines(content))
    assert times_of(read(labelled)) == times_of(read(content))


def times_of(result: Result) -> list[tuple[Any, ...]]:
    """Steps and spans, without whose they are."""
    rows = [*result.tables.get("steps", []), *result.tables.get("phases", [])]
    return [
        tuple(row.get(name) for name in ("line", "step", "phase", "step_s", "span_s", "samples_per_s")) for row in rows
    ]


def but_ranks(result: Result) -> dict[str, list[dict[str, Any]]]:
    """Rows without what says or follows from whose a line is."""
    tables = result.without("rank", "place", "text")
    of_whom = ("outcome_rank", "outcome_text", "failure_text")
    tables["params"] = [row for row in tables.get("params", []) if row["key"] not in of_whom]
    return tables


@pytest.mark.parametrize(
    ("prefix", "rank", "place"),
    [
        ("3: ", 3, None),
        ("[1,3]<stdout>:", 3, None),
        ("[3]<stdout>:", 3, None),
        ("[1,mpirank:3,algo-1]<stdout>:", 3, None),
        ("[rank3]:", 3, None),
        ("[rank3]: ", 3, None),
        ("[default3]:", None, "default3"),
        ("nid005033: ", None, "nid005033"),
        ("[ip-10-0-147-9:3]:", None, "ip-10-0-147-9:3"),
        ("[Trainer3]:", None, "Trainer3"),
        ("1: [default3]:", None, "1/default3"),
        ("nid005033: [default0]:", None, "nid005033/default0"),
        ("trainer-3  | ", None, "trainer-3"),
        ("[pod/train-worker-3/pytorch] 2026-05-06T07:08:09.125Z [default0]:", None, "train-worker-3/default0"),
        ("(RayTrainWorker pid=4711, ip=10.0.0.7) ", None, "pid=4711, ip=10.0.0.7"),
        ("(worker3, rank=3, pid=4711, ip=10.0.0.7) ", None, "worker3"),
        ("(head, rank=0, pid=4711) [default0]:", None, "head/default0"),
        ("(train-gpt, pid=4711) ", None, "pid=4711"),
        ("2026-05-06T07:08:09.125004537+02:00 3: ", 3, None),
    ],
)
def test_prefixes_name_whose_a_line_is(prefix: str, rank: int | None, place: str | None) -> None:
    (step,) = read((prefix + megatron_line(7)).encode()).tables["steps"]
    assert (step["rank"], step["place"]) == (rank, place)


def test_a_label_takes_its_blank_with_it() -> None:
    """What follows may begin with a digit, and in tables the columns count."""
    assert clean(b" 3: 4711  train", 1) == Line("4711  train", 1, 3, None)
    assert clean(b"12:34:56 step 3", 1) == Line("12:34:56 step 3", 1, None, None)


@pytest.mark.parametrize(
    "own",
    [
        "2026-05-06 07:08:09,125 - INFO - step 3",
        "2026-05-06 07:08:09.125 node-1:0  step 3",
        "step-3 | loss 2.5",
        "[epoch3]: loss 2.5",
        "[train_iter:5]: loss 2.5",
    ],
)
def test_what_a_logger_writes_is_no_prefix(own: str) -> None:
    assert clean(own.encode(), 1) == Line(own, 1, None, None)


def test_colours_are_taken_off() -> None:
    coloured = b"\x1b[32m" + megatron_line(7).strip().encode() + b"\x1b[0m\n"
    assert read(coloured).without("line", "text") == read(megatron_line(7).encode()).without("line", "text")


def test_a_progress_bar_may_share_the_line() -> None:
    bar = "".join(f"\rloading {percent:3} %" for percent in range(101))
    result = read((f"{bar}\r{megatron_line(7)}{bar}\n" + megatron_line(8)).encode())
    assert [(row["step"], row["line"]) for row in result.tables["steps"]] == [(7, 1), (8, 3)]


# How a file is read


@by_day("blocks", 3, of=6)
@each_file
def test_block_boundaries_change_nothing(path: Path, blocks: int) -> None:
    content, name = path.read_bytes(), f"{path.parent.name}/{path.name}"
    whole = read(content, name)
    chance = random.Random(name)
    sizes = (7, 31, *chance.sample(range(50, 300), 4))
    for block in chance.sample(sizes, blocks):
        assert read(content, name, block) == whole, f"in blocks of {block} bytes"


def test_a_line_that_srun_cut_is_joined() -> None:
    long = "x" * 700 + " | " + megatron_line(7).strip() + " | " + "y" * 2500 + " memory (MB) | allocated: 5.0"
    label = "12: "
    pieces = [long[at : at + 1024] for at in range(0, len(long), 1024)]
    content = (
        f"{label}start\n{''.join(f'{label}{piece}{chr(10)}' for piece in pieces)}{label}{megatron_line(8)}".encode()
    )
    whole = read(content)
    assert [(row["step"], row["line"]) for row in whole.tables["steps"]] == [(7, 2), (8, 2 + len(pieces))]
    for block in (7, 300, 1000, 1100, 2051, 2100):
        assert read(content, block=block) == whole, f"in blocks of {block} bytes"


def test_a_line_over_a_megabyte_is_no_obstacle() -> None:
    long = b"tokens " * 400_000
    result = read(
        megatron_line(1).encode() + long + b"\n" + megatron_line(2).encode() + long + megatron_line(3).encode()
    )
    assert [(row["step"], row["line"]) for row in result.tables["steps"]][:2] == [(1, 1), (2, 3)]


FILLINGS = (b" ", b"9", b"a.", b"| x: 1.0 ", b": 1 ", b"[Rank 1] ", b"(1, 2) ", b"loss at ")


@pytest.mark.parametrize("fillings", [3, pytest.param(len(FILLINGS), marks=pytest.mark.slow)])
@pytest.mark.parametrize("anchor", spread(set(ANCHORS), lambda anchor: anchor.decode().strip(), "long line", share=8))
def test_a_long_line_costs_no_more_than_its_length(anchor: bytes, fillings: int) -> None:
    def seconds(size: int, filling: bytes) -> float:
        filler = filling * (size // len(filling))
        begin = time.process_time()
        read(filler + anchor + filler + b"\n", looked_at=())
        return time.process_time() - begin

    for filling in (*random.Random(anchor).sample(FILLINGS, fillings), anchor):
        if seconds(16_000, filling) > 0.1:  # else there is nothing to mend, and nothing to measure
            short, long = (min(seconds(size, filling) for _ in range(3)) for size in (2_000, 16_000))
            assert long < 30 * short, (
                f"filled with {filling!r}, eight times the length takes {long / short:.0f} times as long"
            )


COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "zst": zstandard.ZstdCompressor(write_checksum=True).compress,  # as the tool zstd does
    "xz": lzma.compress,
    "bz2": bz2.compress,
}


@by_day("compressions", 1, of=len(COMPRESSIONS))
@each_file
def test_compression_changes_nothing(path: Path, compressions: int) -> None:
    content, name = path.read_bytes(), f"{path.parent.name}/{path.name}"
    plain = read(content, name)
    for suffix, compress in random.Random(name).sample([*COMPRESSIONS.items()], compressions):
        assert read(compress(content), f"{name}.{suffix}") == plain, suffix


@pytest.mark.parametrize("compress", COMPRESSIONS.values(), ids=COMPRESSIONS)
def test_several_streams_in_one_file_are_one_text(compress: Callable[[bytes], bytes]) -> None:
    records = [megatron_line(step).encode() for step in range(1, 4)]
    streams = b"".join(map(compress, records))
    assert read(streams) == read(b"".join(records))
    assert read(streams + b"\0" * 600) == read(b"".join(records)), "zeros fill a tape's block"


@pytest.mark.parametrize("short", range(-2, 3))
def test_a_stream_may_begin_at_any_byte_of_a_block(short: int) -> None:
    around = len(gzip.compress(b"", 0))
    first = gzip.compress(b"x" * (FED + short - around), 0)
    assert len(first) == FED + short
    (step,) = read(first + gzip.compress(b"\n" + megatron_line(7).encode())).tables["steps"]
    assert step["step"] == 7


@pytest.mark.parametrize("compress", COMPRESSIONS.values(), ids=COMPRESSIONS)
def test_what_follows_a_stream_costs_none_of_its_rows(compress: Callable[[bytes], bytes]) -> None:
    result = read(compress(megatron_line(7).encode()) + b"something else")
    assert [row["step"] for row in result.tables["steps"]] == [7]
    assert result.note and "follow its end" in result.note


@pytest.mark.parametrize("compress", COMPRESSIONS.values(), ids=COMPRESSIONS)
def test_a_cut_stream_gives_its_exact_prefix_and_says_so(compress: Callable[[bytes], bytes]) -> None:
    chance = random.Random(3)
    content = "".join(megatron_line(step, samples=chance.randrange(10**9)) for step in range(1, 3000)).encode()
    whole, packed = read(content), compress(content)
    for at in (20, len(packed) // 3, len(packed) // 2, len(packed) - 1):
        source = Source("job.log", io.BytesIO(packed[:at]), at, 0)
        text = source.read()
        assert content.startswith(text)
        cut = read(packed[:at])
        assert cut.note == "the compressed stream is cut"
        last = text.count(b"\n") + 1
        # Records that are read by columns are handed over before those that are read line by line.
        kept, expected = (sorted(map(repr, rows.before(last, "averaged_steps", "value_kind"))) for rows in (cut, whole))
        assert kept == expected


MANY_STEPS = "".join(map(megatron_line, range(1, 200))).encode()


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(st.sampled_from(sorted(COMPRESSIONS)), st.integers(0, 10_000), st.integers(1, 255))
def test_a_damaged_stream_gives_no_rows_but_its_own(suffix: str, at: int, flip: int) -> None:
    packed = bytearray(COMPRESSIONS[suffix](MANY_STEPS))
    packed[at % len(packed)] ^= flip
    result = read(bytes(packed))
    if result.note is None:
        assert result == read(MANY_STEPS), "the damage changed nothing"
    elif result.note == "the compressed stream is cut":  # the checksum that would tell is not reached
        assert result.status == "partial"
    else:
        assert result.tables == {}, result.note


@pytest.mark.parametrize("each", [5, pytest.param(1, marks=pytest.mark.slow)])
def test_an_archive_is_its_files(tmp_path: Path, each: int) -> None:
    path = tmp_path / "logs.tar.gz"
    contents = dict([*CONTENTS.items()][::each])
    with tarfile.open(path, "w:gz") as archive:
        for name, content in contents.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    members = {member.path.rpartition("!")[2]: read_source(member) for member in open_members(path)}
    assert list(members) == list(contents)
    for name, content in contents.items():
        assert members[name] == read(content, name.rpartition("/")[2]), name


def test_a_cut_archive_gives_its_whole_members_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "logs.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for number in range(4):
            content = random.Random(number).randbytes(50_000)
            member = tarfile.TarInfo(f"{number}.log")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    path.write_bytes(path.read_bytes()[:130_000])
    sizes = []
    with pytest.raises(tarfile.TarError):
        for member in open_members(path):
            sizes.append(member.size_bytes)
    assert sizes == [50_000, 50_000]


def test_a_log_that_is_still_written_is_read_up_to_its_size_at_opening(tmp_path: Path) -> None:
    path = tmp_path / "job.log"
    path.write_text(megatron_line(1))
    source = open_source(path)
    with path.open("a") as log:
        log.write(megatron_line(2))
    assert [row["step"] for row in read_source(source).tables["steps"]] == [1]
    source.close()


MEASURED = """
import sys
from pathlib import Path
from scalelens.ingestion import formats
from scalelens.ingestion.recognize import read_rows
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import open_source

def peak():
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])

def read(path):
    read_rows(open_source(Path(path)), formats.load(), Rows("f", lambda table, batch: None))

read(sys.argv[1])
before = peak()
read(sys.argv[2])
print((peak() - before) // 1024)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak memory from /proc")
@pytest.mark.parametrize(
    ("line_break", "pieces", "size", "most"),
    [("\n", 60, 60_000_000, 30), ("\r", 6, 20_000_000, 60)],
    ids=["lines", "carriage returns"],
)
def test_memory_does_not_grow_with_the_file(tmp_path: Path, line_break: str, pieces: int, size: int, most: int) -> None:
    """The smaller file of lines has 27 MB, as the first blocks of a file take memory that later ones take again."""
    noise = "".join(f"{number} tokens are not here{line_break}" for number in range(9))
    piece = "".join(noise + megatron_line(step).replace("\n", line_break) for step in range(1, 1000))
    small, large = tmp_path / "small.log", tmp_path / "large.log"
    small.write_text(piece * pieces)
    with large.open("w") as log:
        for _ in range(size // len(piece)):
            log.write(piece)
    run = subprocess.run([sys.executable, "-c", MEASURED, small, large], capture_output=True, text=True, check=True)
    more = int(run.stdout)
    assert more < most, f"{more} MB more than for a smaller file"
