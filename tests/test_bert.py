"""The runner of BERT as a user starts it, on one and two CPU ranks."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

from asking import answer
from running import carried_out, of, records, rows_of, runner_module
from scalelens.ingestion.ingest import ingest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not torch.distributed.is_available(), reason="torch was built without distributed")

SMALL = ("--seq-length", 32, "--global-batch-size", 4, "--steps", 6, "--profile-steps", 0, "--warmup-steps", 2)


@pytest.fixture(scope="module")
def bert() -> ModuleType:
    return runner_module("bert")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bert")
    for ranks in (1, 2):
        carried_out("bert.py", *SMALL, "--lr", 3e-3, "--out", folder / f"n{ranks}", ranks=ranks)
    return folder


@pytest.mark.parametrize(("name", "parameters"), [("bert-base", 109_514_298), ("bert-large", 335_174_458)])
def test_models_have_the_parameters_of_bert(name: str, parameters: int) -> None:
    model = runner_module("bert_model")
    with torch.device("meta"):
        bert = model.Bert(model.SHAPES[name])
    assert sum(p.numel() for p in bert.parameters()) == parameters  # of Hugging Face's BertForMaskedLM


def test_masked_tokens_alone_are_scored_and_none_is_seen() -> None:
    model = runner_module("bert_model")
    shape = model.SHAPES["toy-bert"]
    for tokens, labels in model.batches(shape, 8, 64, 1, "cpu"):
        is_masked = tokens == shape.vocabulary - 1
        assert torch.equal(is_masked, labels != model.UNMASKED)
        assert is_masked.any(1).all() and 0.05 < is_masked.float().mean() < 0.3
        whole = torch.where(is_masked, labels, tokens)
        assert torch.equal((whole[:, :1] + torch.arange(64)) % (shape.vocabulary - 1), whole)


@pytest.mark.parametrize("ranks", [1, 2])
def test_every_step_of_every_rank_is_read(runs: Path, ranks: int) -> None:
    for rank in range(ranks):
        log = runs / f"n{ranks}" / f"rank{rank}.log"
        events, tables = records(log), rows_of(log)
        assert [record["event"] for record in events] == ["run", "facts", "phase", *["step"] * 6, "phase", "end"]
        assert events[-1]["outcome"] == "completed"
        assert "problems" not in tables
        assert [(row["phase"], row["step"]) for row in tables["steps"]] == [
            ("warmup" if step < 3 else "train", step) for step in range(1, 7)
        ]
        assert {(row["rank"], row["samples"], row["tokens"]) for row in tables["steps"]} == {(rank, 4.0, 128.0)}
        losses = [record["loss"] for record in of(events, "step")]
        assert losses[-1] < losses[0]


def test_mfu_of_each_run(runs: Path, tmp_path: Path) -> None:
    """The catalog has no CPU; what the runs need is known."""
    ingest([runs], tmp_path / "w", jobs=1)
    statement = """SELECT devices, model, f.seq_length, formula_used, attention_counted, flops_per_token, recomputation
        FROM model_flops() AS f JOIN runs USING (run_id) ORDER BY devices"""
    token = 3 * (2 * (8 * 64**2 + 4 * 64 * 256 + 4 * 32 * 64) + 2 * 64 * 512)
    rows = [[n, "toy-bert", 32, "megatron", "full", token, "none"] for n in (1, 2)]
    assert [list(row) for row in answer(tmp_path / "w", statement).fetchall()] == rows
    statement = "SELECT command FROM repeat_commands() JOIN runs USING (run_id) ORDER BY devices"
    (command,), (other,) = answer(tmp_path / "w", statement).fetchall()
    assert "scalelens bench bert --nproc 1 " in command and "scalelens bench bert --nproc 2 " in other
    assert "--shape toy-bert --seq-length 32 --global-batch-size 4 --steps 6 --warmup-steps 2" in command


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--seq-length", "129"], "toy-bert has 128 positions"),
        (["--device", "cpu", "--precision", "tf32"], "tf32 is a mode of NVIDIA's GPUs"),
        (["--global-batch-size", "9"], "cannot be shared equally by 2 devices"),
        (["--batch-per-device", "0"], "cannot be shared equally by 2 devices"),
        (["--steps", "0"], "--steps is 1 or more"),
        (["--shape", "gpt"], "invalid choice"),
    ],
)
def test_what_cannot_run_is_refused(bert: ModuleType, monkeypatch, capsys, options: list[str], sentence: str) -> None:
    monkeypatch.setattr(bert, "WORLD", 2)
    monkeypatch.setattr(sys, "argv", ["bert.py", "--shape", "toy-bert", "--out", "nowhere", *options])
    with pytest.raises(SystemExit, match="2"):
        bert.arguments()
    assert sentence in capsys.readouterr().err
