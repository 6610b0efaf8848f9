"""How a run ended, whatever reads its steps: a step after a line of a failure shows that the run went on."""

import io
import itertools
import re
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from conftest import FIXTURES, ROOT, as_dicts
from logs import megatron_line
from scalelens.ingestion import formats
from scalelens.ingestion.formats import Formats
from scalelens.ingestion.identify import identify
from scalelens.ingestion.recognize import read_rows
from scalelens.parsing.format_file import heading, name_of
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source, open_source

LOADED = formats.load()
OF_LINES = {name_of(format): format for format in (*LOADED.of_lines, *LOADED.second)}
CASES = sorted(
    path for name in OF_LINES for path in (FIXTURES / name).glob("*") if path.suffix not in (".csv", ".status")
)
PLANTED = b"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"


class Read(NamedTuple):
    """What a file gives."""

    steps: dict[int, int]  # the part of each line with a step of the training
    params: list[dict[str, Any]]

    def outcomes(self, line: int | None = None) -> list[str]:
        """Outcomes that a line tells, or any line."""
        told = [row for row in self.params if row["key"] == "outcome" and line in (None, row["line"])]
        return [row["value"] for row in told]


def read(text: bytes, path: str = "job.log", loaded: Formats = LOADED) -> Read:
    tables = defaultdict(list)
    rows = Rows("f", lambda table, batch: tables[table].extend(as_dicts(batch)))
    read_rows(Source(path, io.BytesIO(text), len(text), 0), loaded, rows)
    rows.flush()
    training = (row for row in tables["steps"] if row["phase"] != "validation")
    return Read({row["line"]: row["part"] for row in training if row["line"]}, tables["params"])


def lines_of(path: Path) -> list[bytes]:
    """The lines of a fixture, each with its end."""
    text = b"".join(open_source(path).utf8())
    return [line + b"\n" for line in text.removesuffix(b"\n").split(b"\n")]


def middles(steps: dict[int, int]) -> list[tuple[int, int]]:
    """Lines of steps after which the same part has another step, with that part; those in the middle first."""
    lines = sorted(steps)
    between = [(line, steps[line]) for line, later in itertools.pairwise(lines) if steps[line] == steps[later]]
    return sorted(between, key=lambda place: abs(between.index(place) - len(between) // 2))


def planted_between_steps(lines: list[bytes], path: str, loaded: Formats = LOADED) -> tuple[int, Read] | None:
    """A file with an out-of-memory line after a step and before another one; None where there is no such place.

    A line within the lines of a record may end it: then the place is another one.
    """
    for line, part in middles(read(b"".join(lines), path, loaded).steps):
        found = read(b"".join([*lines[:line], PLANTED, *lines[line:]]), path, loaded)
        if any(later > line + 1 and of == part for later, of in found.steps.items()):
            return line + 1, found
    return None


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_steps_after_an_out_of_memory_line_show_that_the_run_went_on(path: Path) -> None:
    lines = lines_of(path)
    before = read(b"".join(lines), str(path))
    if not before.steps:
        pytest.skip("no steps of a training")
    if middles(before.steps):
        planted = planted_between_steps(lines, str(path))
        assert planted
        line, found = planted
        assert "oom" not in found.outcomes(line)
    last = read(b"".join([*lines, PLANTED]), str(path))
    assert last.outcomes(len(lines) + 1) == ["oom"] or "oom" in before.outcomes()


@pytest.mark.parametrize(
    "end",
    [PLANTED, b"slurmstepd: error: *** JOB 4711 ON node08 CANCELLED AT 2026-01-02T04:05:06 DUE TO TIME LIMIT ***\n"],
)
def test_what_ends_a_job_ends_the_launch_before_it(end: bytes) -> None:
    """Also where a second reading tells the launches of a file apart, by the settings printed before each."""
    path = FIXTURES / "generic_lines" / "launches_of_other_settings.log"
    ended = read(path.read_bytes() + end, str(path))
    assert {row["part"] for row in ended.params if row["key"] == "outcome"} == {1}


def test_each_line_format_with_steps_has_such_a_fixture() -> None:
    with_steps = {name for name, format in OF_LINES.items() if "steps" in heading(format, "Yields")}
    usual = {"generic_lines", "openclip", "keras", "graphcore", "megatron"}
    with_places = {
        name
        for name in with_steps | usual
        if any(middles(read(b"".join(lines_of(path)), str(path)).steps) for path in CASES if path.parent.name == name)
    }
    assert with_steps - with_places == {"colossalai", "verl"}  # a mean of the whole run, and logs of one step
    assert usual <= with_places


def user_format(folder: Path) -> Formats:
    """The format that CONTRIBUTING.md shows."""
    shown = re.search(r"```python\n( +\"\"\"My tool's.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)
    assert shown
    indent = shown[1].index('"')
    (folder / "mytool.py").write_text("".join(line[indent:] or "\n" for line in shown[1].splitlines(keepends=True)))
    return formats.load((folder,))


def test_a_format_of_a_user_need_do_nothing_for_it(tmp_path: Path) -> None:
    loaded = user_format(tmp_path)
    lines = [b"mytool step %d took 0.5 s\n" % step for step in range(10)]
    planted = planted_between_steps(lines, "job.log", loaded)
    assert planted and planted[1].outcomes() == []
    assert read(b"".join([*lines, PLANTED]), loaded=loaded).outcomes() == ["oom"]


def test_a_format_that_sets_the_step_by_hand_reads_as_before(tmp_path: Path) -> None:
    """As formats had to in version 1.0."""
    user_format(tmp_path)
    path = tmp_path / "mytool.py"
    by_hand = "self.rows.step, self.rows.steps_line = int(found[1]), line.number\n        self.rows.add("
    path.write_text(path.read_text().replace("self.rows.add(", by_hand))
    assert "steps_line" in path.read_text()
    lines = [b"mytool step %d took 0.5 s\n" % step for step in range(10)]
    found = read(b"".join(lines), loaded=formats.load((tmp_path,)))
    assert len(found.steps) == 10


def test_a_preset_for_lines_is_read_before_the_outcome_is_told(tmp_path: Path) -> None:
    log = FIXTURES / "generic_lines" / "ranks.log"
    identify(log, preset=tmp_path / "my_loop.py")
    loaded = formats.load((tmp_path,))
    planted = planted_between_steps(lines_of(log), "job.log", loaded)
    assert planted and planted[1].outcomes() == []
    assert read(b"".join([*lines_of(log), PLANTED]), loaded=loaded).outcomes() == ["oom"]


@pytest.mark.parametrize("at", [100, 1500, 2999, 3000])
def test_records_that_are_read_by_columns_are_steps_too(at: int) -> None:
    lines = [megatron_line(step).encode() for step in range(1, 3001)]
    found = read(b"".join([*lines[:at], PLANTED, *lines[at:]]))
    assert len(found.steps) == 3000
    assert ("oom" in found.outcomes()) == (at == 3000)


# Lines of a loop that no format knows, which are read a second time.
LOOP = [b"iter %d/40 loss: %.3f time: 0.25s\n" % (step, 3 - step / 20) for step in range(40)]


def test_the_first_line_after_the_last_step_tells_the_outcome_of_a_loop_that_no_format_knows() -> None:
    found = read(b"".join([*LOOP[:20], PLANTED, *LOOP[20:], b"[rank7]: ", PLANTED, b"[rank3]: ", PLANTED]))
    assert len(found.steps) == 40
    assert [(row["value"], row["line"]) for row in found.params if row["key"] == "outcome"] == [("oom", 42)]
    assert [row["value"] for row in found.params if row["key"] == "outcome_rank"] == ["7"]


def test_ends_of_which_few_are_kept() -> None:
    """Of a loop that passes over thousands of them; and of one that ends with thousands."""
    passed = [line for step in LOOP for line in [PLANTED] * 100 + [step]]
    assert read(b"".join(passed)).outcomes() == []
    assert read(b"".join([*passed, PLANTED])).outcomes() == ["oom"]
    found = read(b"".join([*LOOP, *[PLANTED] * 3000]))
    assert found.outcomes(41) == ["oom"]


def test_a_message_in_the_line_of_a_bar_stands_after_its_steps() -> None:
    """The bar ends without a line end when the training fails, so that the message goes on with its line."""
    *lines, bars = (line for line in lines_of(FIXTURES / "generic_lines" / "bars.log") if line.startswith(b"\rtrain"))
    cut = bars[: bars.index(b"\r", len(bars) // 2)]
    found = read(b"".join([*lines, cut, PLANTED]))
    assert max(found.steps) == len(lines) + 1
    assert found.outcomes() == ["oom"]


def test_a_command_belongs_to_steps_that_are_read_a_second_time() -> None:
    commands = [b"+ python prepare.py --shards 8\n", b"+ python train.py --micro-batch-size 4 --shards 2\n"]
    params = {row["key"]: row["value"] for row in read(b"".join([*commands, *LOOP])).params}
    assert (params["micro_batch_size"], params["shards"]) == ("4", "2")
    assert read(b"".join([*LOOP, *commands])).params == []


def test_a_command_that_no_record_follows_is_passed_over_in_another_part_too() -> None:
    """The second job of a file shows its command, and fails."""
    job = b"slurmstepd: error: *** JOB %d ON n1 CANCELLED AT 2026-01-02T04:05:06 ***\n"
    lines = [megatron_line(step).encode() for step in range(1, 4)]
    found = read(b"".join([*lines, job % 1, b"+ python train.py --seed 3\n", job % 2]))
    assert [row["value"] for row in found.params if row["key"] == "seed"] == []


@pytest.mark.parametrize(("failed_at", "outcomes"), [(3, ["cancelled"]), (40, ["error"])])
def test_a_step_of_slurm_that_is_cancelled_after_a_task_had_failed(failed_at: int, outcomes: list[str]) -> None:
    """A failure before further steps, of an earlier step of the job, is not why it was cancelled."""
    failed = b"srun: error: nid005033: task 5: Exited with exit code 1\n"
    stopped = b"slurmstepd: error: *** STEP 4711001.0 ON node07 CANCELLED AT 2026-01-02T03:04:05 ***\n"
    for lines in (LOOP, [megatron_line(step).encode() for step in range(1, 41)]):
        found = read(b"".join([*lines[:failed_at], failed, *lines[failed_at:], stopped]))
        assert len(found.steps) == 40
        assert found.outcomes() == outcomes


@pytest.mark.parametrize(
    "said",
    [
        "Training completed successfully!", "2026-03-04 05:06:07 | INFO | fairseq_cli.train | done training in 354.3 seconds",
        "`Trainer.fit` stopped: `max_epochs=3` reached.", "INFO: `Trainer.fit` stopped: `max_steps=40` reached.",
        "100 epochs completed in 2.345 hours.", "DEEPMD INFO    finished training", "2026-03-04 05:06:07.8: Training done.",
        "Training time 1:23:45", "[2026-03-04 05:06:07 tiny](main.py 180): INFO Training time 1 day, 3:02:11",
    ],
)  # fmt: skip
def test_a_line_that_says_that_the_training_is_over(said: str) -> None:
    assert read(b"".join([*LOOP, said.encode(), b"\n"])).outcomes() == ["completed"]
    assert read(b"".join([*LOOP[:9], said.encode(), b"\n", *LOOP[9:]])).outcomes() == []


@pytest.mark.parametrize(
    "said",
    [
        "Fold 1: training done", "done training epoch 3", "`Trainer.fit` stopped: No training batches.",
        "`Trainer.fit` stopped: `max_time` reached.", "3 epochs completed in this run", "Training time 12.5",
        "Epoch 3: Training time 0:01:02", "Training time 0:01:02 of 0:05:00", "if done training, call evaluate()",
    ],
)  # fmt: skip
def test_a_line_that_says_so_of_a_part(said: str) -> None:
    assert read(b"".join([*LOOP, said.encode(), b"\n"])).outcomes() == []


def test_a_time_that_is_told_after_each_epoch_is_not_that_of_the_training() -> None:
    told = b"Training time 0:01:02\n"
    assert read(b"".join([*LOOP[:9], told, *LOOP[9:], told])).outcomes() == []


def test_tests_of_a_network_before_a_loop_that_no_format_knows_are_not_its_outcome() -> None:
    """nccl-tests that are carried out before a training do not say how that ended."""
    tests = next(
        path
        for path in sorted((FIXTURES / "nccl_tests").glob("*.log"))
        if "completed" in read(path.read_bytes()).outcomes()
    )
    found = read(tests.read_bytes() + b"".join(LOOP))
    assert len(found.steps) == 40
    assert found.outcomes() == []


def test_epochs_after_a_failure_show_that_the_run_went_on_where_no_steps_are_logged() -> None:
    lines = lines_of(FIXTURES / "mllog" / "mxnet.log")
    before_last_epoch, after_it = b"".join([*lines[:4], PLANTED, *lines[4:]]), b"".join([*lines, PLANTED])
    assert "oom" not in read(before_last_epoch).outcomes()
    assert "oom" in read(after_it).outcomes()
