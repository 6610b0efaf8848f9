"""Lines that look like training and that no format reads: which they are, and that the search stays small and fast."""

import random
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import FIXTURES
from scalelens.ingestion.counted_rows import CountedRows
from scalelens.ingestion.formats import load
from scalelens.ingestion.ingest import ingest
from scalelens.ingestion.recognize import read_rows
from scalelens.parsing.recurring_lines import ALL_LINES, KEPT, Recurring, RecurringLines
from scalelens.parsing.source import open_source

LOADED = load()
FILES = FIXTURES / "recurring_lines"


def training_in(*lines: str) -> list[Recurring]:
    """What looks like training among lines that no format took."""
    recurring = RecurringLines()
    text = "".join(f"{line}\n" for line in lines).encode()
    recurring.look(text, [(0, len(text))], 1)
    return recurring.training()


def each(template: str, count: int = 6) -> list[str]:
    """Lines in which $i is a count from 1 on and $x any number."""
    chance = random.Random(template)
    return [template.replace("$i", str(i)).replace("$x", f"{chance.uniform(1, 9):.3f}") for i in range(1, count + 1)]


# What looks like training


@pytest.mark.parametrize(
    "template",
    [
        "step $i loss $x time $x",
        "Step: $i, objective $x, took $x s",
        "[2026-01-02 03:04:05,678] [INFO] global_step=$i/900, CurrSamplesPerSec=$x",
        "Epoch $i/90 - loss: $x - $x sec",
        "epoch $i | $x img/s",
        "12:00:0$i trainer: iter $i elapsed 0:12:30",
        "TRAIN [0][$i/321]\tTime $x ($x)\tTok/s $x",
        "train: [$i:391] time $x ms",
        "01-02 03:04:05: main.py[28]: [Epoch 7/9][ $i:391]  Loss: $x LR: 0.1",
        "Epoch:[1/1]($i/39695), objective: $x, epoch_time: 49.0min",
        "Batch $i: step_time_ms=$x",
        "it $i: $x samples/s",
        '{"step": $i, "step_time": $x}',
        "  3%|███▎      | $i/391 [00:05<02:33,  2.48it/s, loss=$x]",
        "\x1b[32mstep $i\x1b[0m done, latency=$x ms, grad nan",
        "17: iteration $i throughput $x",
        "[1,3]<stdout>:iteration $i throughput $x",
        "step $i: eta 0:10:00, 3.$i s/it",
    ],
)
def test_a_count_that_rises_with_a_time_or_a_rate_looks_like_training(template: str) -> None:
    (pattern,) = training_in(*each(template))
    assert (pattern.lines, pattern.first, pattern.last) == (6, 1, 6)


@pytest.mark.parametrize(
    "template",
    [
        "step $i loss $x",  # no time, no rate
        "step 7 took $x s",  # no count that rises
        "loss $x, $x samples/s",  # no count
        "step $i, eta: $x s, 0:12:30 remaining",  # a time to come
        "[2026-01-02 03:04:0$i] step took $x s",
        "time per iteration: $x ms",
        "Loading checkpoint shards:  33%|███▎      | $i/30 [00:01<00:02,  1.21s/it]",
        "Downloading part $i/30, $x MB/s",
        "$i/30 [00:01<00:02,  1.21it/s]",  # may count anything
        "saved checkpoint at step $i (took $x s)",
        "step $i: checkpoint saved in $x s",
        "Test: [$i/196]  Time $x  Loss $x",
        "eval epoch $i: $x s, accuracy $x",
        '{ "step": $i, "compute_ms": $x },',  # a document
        "batch size: 32, time $x s",
        "node$i ready after $x s",
        "NCCL INFO Channel 0$i/16 : 0 1 2 3",
    ],
)
def test_other_lines_do_not(template: str) -> None:
    assert training_in(*each(template)) == []


def test_it_must_recur() -> None:
    assert training_in(*each("step $i took $x s", 4)) == []
    assert len(training_in(*each("step $i took $x s", 5))) == 1


def test_the_count_may_begin_anew_with_each_epoch() -> None:
    lines = [f"batch {batch}/3 {batch}.5 s" for _ in range(5) for batch in (1, 2, 3)]
    (pattern,) = training_in(*lines)
    assert pattern.lines == 15


def test_ranks_may_print_each_step() -> None:
    (pattern,) = training_in(*(f"{rank}: step {step} took 1.{rank} s" for step in range(5) for rank in range(4)))
    assert pattern.lines == 20


def test_a_record_may_fill_several_lines() -> None:
    head, rate = each("[step=$i/90,epoch=0]"), each("    rate/tokens_per_second=$x")
    (pattern,) = training_in(*(line for record in zip(head, each("  a=$x"), rate, strict=True) for line in record))
    assert (pattern.skeleton, pattern.lines) == ("[step=#/#,epoch=#]", 6)
    assert training_in(*head, *rate) == []


def test_each_piece_of_a_progress_bar_is_a_line() -> None:
    (pattern,) = training_in("\r".join(each("step $i took $x s")))
    assert (pattern.lines, pattern.first, pattern.last) == (6, 1, 1)


def test_patterns_are_told_apart_and_come_in_the_order_of_the_text() -> None:
    patterns = training_in(*each("step $i took $x s"), *each("epoch $i took $x s", 5))
    assert [(pattern.skeleton, pattern.lines) for pattern in patterns] == [
        ("step # took # s", 6), ("epoch # took # s", 5),
    ]  # fmt: skip


NOISE = st.lists(
    st.one_of(
        st.sampled_from(["", "warning: slow", "time 3 s", "epoch", "step", "loss 3", "took 3 s", "a 3/4"]),
        st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=30),
    ),
    max_size=40,
)  # fmt: skip


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(NOISE, st.randoms(use_true_random=False))
def test_lines_of_others_change_only_the_numbers_of_lines(noise: list[str], chance: random.Random) -> None:
    lines = each("step $i loss $x took $x s", 8)
    mixed = list(lines)
    for line in noise:
        mixed.insert(chance.randrange(len(mixed) + 1), line)
    (pattern,) = (pattern for pattern in training_in(*mixed) if pattern.skeleton == "step # loss # took # s")
    assert (pattern.lines, pattern.example) == (8, lines[0])
    assert (pattern.first, pattern.last) == (mixed.index(lines[0]) + 1, mixed.index(lines[-1]) + 1)


def test_blocks_and_spans_change_nothing() -> None:
    lines = [f"{line}\n".encode() for line in each("step $i took $x s", 40)]
    whole = training_in(*(line.decode().strip() for line in lines))
    recurring, number = RecurringLines(), 1
    for begin in range(0, 40, 10):
        spans, place = [], 0
        for line in lines[begin : begin + 10]:
            spans.append((place, place + len(line)))
            place += len(line)
        recurring.look(b"".join(lines[begin : begin + 10]), spans, number)
        number += 10
    assert recurring.training() == whole


# Memory and time


def different(begin: int, count: int) -> bytes:
    """Lines that differ in more than their numbers."""
    names = "".join(f"{number}- took 1 s\n" for number in range(begin, begin + count))
    return names.translate(str.maketrans("0123456789", "abcdefghij")).replace("- took b s", " step 1 took 1 s").encode()


def test_different_lines_take_little_memory() -> None:
    recurring, text = RecurringLines(), different(0, 4 * KEPT)
    tracemalloc.start()
    recurring.look(text, [(0, len(text))], 1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert recurring.looked_at == 4 * KEPT
    assert peak < 10 << 20


def test_of_a_million_different_lines_few_are_kept() -> None:
    recurring = RecurringLines()
    for begin in range(0, 1_000_000, 10_000):
        text = different(begin, 10_000)
        recurring.look(text, [(0, len(text))], 1 + begin)
    assert 10_000 <= recurring.looked_at < 15_000
    assert len(recurring._patterns) <= KEPT


def test_what_recurs_outlives_what_does_not() -> None:
    lines = different(0, 8_000).decode().splitlines()
    lines[::400] = each("step $i took $x s", 20)
    (pattern,) = training_in(*lines)
    assert (pattern.skeleton, pattern.lines) == ("step # took # s", 20)


def test_a_long_text_is_looked_at_in_samples() -> None:
    recurring = RecurringLines()
    text = "".join(f"step {i} took 1.5 s, {'x' * 80}\n" for i in range(10_000)).encode()
    for block in range(20):
        recurring.look(text, [(0, len(text))], 1 + 10_000 * block)
    assert recurring.sampled
    assert ALL_LINES <= recurring.looked_at < 1.1 * ALL_LINES
    (pattern,) = recurring.training()
    assert pattern.lines == recurring.looked_at


@pytest.mark.parametrize("line", ["_a" * 500, "time " * 200, "step 1/" * 150, "1:" * 400, "=." * 400, "step [" * 150])
def test_no_line_is_slow(line: str) -> None:
    recurring = RecurringLines()
    text = "".join(f"step {'a' * i} {line}\n" for i in range(50)).encode()
    recurring.look(text, [(0, len(text))], 1)  # a search that went back and forth would take minutes


# What a file says of them


def read(path: Path) -> tuple[str, str | None, dict[tuple[str, str], int]]:
    """Status and note of a file, and how many rows it gave by format and table."""
    rows = CountedRows()
    source = open_source(path)
    status, note = read_rows(source, LOADED, rows)
    source.close()
    return status, note, {key: count.rows for key, count in rows.counts.items()}


def test_a_file_of_which_the_training_is_not_read_is_partial() -> None:
    status, note, counts = read(FILES / "own_loop.log")
    assert (status, note) == ("partial", "8 lines look like training and are not read, such as line 3")
    assert counts["", "problems"] == 1


def test_a_file_of_which_nothing_is_read_stays_unknown_and_says_what_recurs() -> None:
    status, note, counts = read(FILES / "several_lines.log")
    assert status == "unknown"
    assert note is not None
    assert note.endswith("7 lines look like training and are not read, such as line 1")
    assert counts == {("", "problems"): 1}


def test_where_steps_have_times_only_other_jobs_are_reported(tmp_path: Path) -> None:
    status, note, counts = read(FILES / "two_programs.log")
    assert (status, note) == ("partial", "6 lines look like training and are not read, such as line 13")
    assert counts["megatron", "steps"] == 6
    without_other = tmp_path / "one_program.log"
    text = (FILES / "two_programs.log").read_text()
    without_other.write_text("".join(line for line in text.splitlines(keepends=True) if "other job" not in line))
    assert read(without_other)[:2] == ("ok", None)


def test_tables_are_left_to_the_formats_of_tables(tmp_path: Path) -> None:
    table = tmp_path / "steps.jsonl"
    table.write_text("".join(f'{{"step": {i}, "step_time_s": 1.{i}, "loss": 2.5}}\n' for i in range(1, 30)))
    status, _, counts = read(table)
    assert status == "ok"
    assert ("", "problems") not in counts


def test_the_problem_leads_to_the_first_line(tmp_path: Path) -> None:
    from asking import answer

    ingest([FILES / "own_loop.log"], tmp_path / "w", jobs=1)
    (row,) = answer(tmp_path / "w", "SELECT format, line, reason, text FROM problems").fetchall()
    assert row[:2] == (None, 3)
    assert row[2] == (
        "8 lines like this one, up to line 11, look like training, and no format reads them; "
        "a format file in a folder of yours can (--formats)"
    )
    assert row[3] == "2026-03-04 05:06:03,123 INFO myloop.py:88 - update step 10/80, objective 9.000, took 1.238 s"
