"""Tokens and passwords in what files say are masked on the way in; what only looks a little like one stays."""

from pathlib import Path

import pytest

from asking import answer
from scalelens.ingestion.ingest import ingest
from scalelens.parsing.secrets import masked, masked_value
from test_check import texts
from test_warehouse import SETTINGS

TOKENS = [
    "hf_" + "aB3" * 11, "ghp_" + "x1Y2" * 9, "glpat-" + "abcd" * 5, "sk-proj-" + "ab_1" * 8, "AKIA" + "ABCD" * 4,
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.SflKxwRJSMeK",
]  # fmt: skip


@pytest.mark.parametrize("token", TOKENS)
def test_a_token_of_a_known_service_is_masked(token: str) -> None:
    assert masked(f"logging in with {token}, done") == "logging in with ***, done"


@pytest.mark.parametrize(("text", "shown"), [
    ("export WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567", "export WANDB_API_KEY=***"),
    ("'HF_TOKEN': 'abcdefgh12345678',", "'HF_TOKEN': '***',"),
    ("AWS_SECRET_ACCESS_KEY = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "AWS_SECRET_ACCESS_KEY = ***"),
    ("DB_PASSWORD=hunter2-hunter2 step 4", "DB_PASSWORD=*** step 4"),
])  # fmt: skip
def test_the_value_of_a_variable_that_says_so_is_masked(text: str, shown: str) -> None:
    assert masked(text) == shown


@pytest.mark.parametrize("text", [
    "tokens_per_s=123456789", "TOKENIZER=GPT2BPETokenizer", "MAX_TOKENS=12345678", "eos_token: endoftext1",
    "tokenizer_type: GPT2BPETokenizer", "secret sauce", "NCCL_ALGO=TreeTreeTree", "hf_checkpoint_path_of_a_model",
])  # fmt: skip
def test_what_only_looks_a_little_like_a_secret_stays(text: str) -> None:
    assert masked(text) == text


def test_a_setting_is_masked_by_its_name() -> None:
    assert masked_value("WANDB_API_KEY", "0123456789abcdef") == "***"
    assert masked_value("env.HF_TOKEN", "0123456789abcdef") == "***"
    assert masked_value("vocab_size", "0123456789abcdef") == "0123456789abcdef"


def test_no_secret_reaches_the_warehouse(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "a.log"
    log.parent.mkdir()
    record = " iteration 7/ 10 | elapsed time per iteration (ms): broken {} | WANDB_API_KEY={} |\n"
    log.write_text(SETTINGS + "".join(record.format(token, "9a" * 20) for token in TOKENS))
    ingest([log], tmp_path / "w")
    problems = answer(tmp_path / "w", "SELECT count(*) FROM problems WHERE text LIKE '%***%'").fetchall()
    assert problems[0][0] > 0
    assert not any(secret in texts(tmp_path / "w") for secret in (*TOKENS, "9a" * 20))
