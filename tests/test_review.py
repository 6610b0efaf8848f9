"""`review`: no rule is met whose evidence is missing.  Generated studies that meet every rule, with one of them broken."""

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import scalelens
from command_line import Run
from little_warehouse import Row, Warehouse
from scalelens.report.findings import review

START = datetime(2026, 3, 1)
RULES = {1: "base", 2: "repeats", 3: "intervals", 4: "left out", 5: "settings", 6: "clocks", 7: "energy", 8: "mfu",
         9: "environment", 10: "noise", 11: "figures", 12: "claims"}  # fmt: skip
FIGURES, CLAIMS = "3 0 0", "20 0 0"


class Study:
    """Weak scaling on two or three sizes: what is inserted, so that a fault can change it before."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.per_node = int(self.random.choice([4, 8]))
        sizes = [2**k for k in range(int(self.random.integers(2, 4)))]
        runs = [10] + [6] * (len(sizes) - 1)
        self.runs = [
            {"id": f"n{nodes}-{k}", "nodes": nodes, "day": k}
            for nodes, n in zip(sizes, runs, strict=True)
            for k in range(n)
        ]
        self.last = sizes[-1]
        self.settings: Row = {
            "framework_version": "2.6", "cuda_version": "12.4", "device_clock_mhz": 1410, "power_cap_w": 400,
            "num_layers": 24, "hidden_size": 2048, "ffn_hidden_size": 8192, "num_attention_heads": 16, "vocabulary": 50304,
        }  # fmt: skip
        self.facts: Row = {
            "system": "booster", "device_model": "fast", "precision": "bf16", "framework": "megatron-lm", "model": "gpt",
            "device_unit": "gpu", "seq_length": 1024, "micro_batch_size": 8, "parameters": 1_300_000_000,
        }  # fmt: skip
        self.base_nodes: int | None = 1
        self.value_kind = "instant"
        self.gap_of: str | None = None
        self.figures, self.claims = FIGURES, CLAIMS
        self.printed_mfu: float | None = None
        self.more_settings: dict[str, Row] = {}
        self.step_s = float(self.random.uniform(0.5, 2.0))

    def insert(self, warehouse: Warehouse) -> None:
        peak = {"place": 1, "device": "fast", "unit": "gpu", "pattern": "^fast$", "bf16_tflops": 900.0, "fp16_tflops": 900.0,
                "fp32_tflops": 60.0, "tdp_w": 400.0, "memory_gb": 80.0, "source": "https://example.org"}  # fmt: skip
        warehouse.insert("devices_catalog", [peak])
        for run in self.runs:
            self.insert_run(warehouse, run)

    def insert_run(self, warehouse: Warehouse, run: Row) -> None:
        run_id, devices = run["id"], run["nodes"] * self.per_node
        batch, started = 8 * devices, START + timedelta(days=run["day"])
        level = self.step_s * (1 + 0.03 * np.log2(run["nodes"])) * np.exp(0.005 * self.random.standard_normal())
        times = [float(level * np.exp(0.004 * value)) for value in self.random.standard_normal(40)]
        nodes = run["nodes"] * self.base_nodes if self.base_nodes else None
        facts = self.facts | {"nodes": nodes, "devices": devices, "global_batch_size": batch, "started_at": started}
        steps = {"samples": batch, "tokens": batch * 1024, "value_kind": self.value_kind}
        warehouse.run(run_id, times, steps=steps, **facts)
        common = {"run_id": run_id, "file_id": run_id, "origin": "log"}
        settings = self.settings | facts | self.more_settings.get(run_id, {})
        stated = {
            key: value
            for key, value in settings.items()
            if value is not None and key not in ("started_at", "parameters")
        }
        warehouse.insert("params", [{**common, "key": key, "value": str(value)} for key, value in stated.items()])
        moments = [k for k in range(60) if not (run_id == self.gap_of and 10 < k < 45)]
        warehouse.insert("power", [
            {"run_id": run_id, "file_id": f"{run_id}p", "node": f"x{device // self.per_node}", "device": str(device % self.per_node), "scope": "gpu",
             "ts": started + timedelta(seconds=k), "ts_origin": "utc", "power_w": 350.0}
            for device in range(devices) for k in moments
        ])  # fmt: skip
        if self.printed_mfu:
            warehouse.insert(
                "metrics",
                [
                    {
                        "run_id": run_id,
                        "file_id": run_id,
                        "line": 1,
                        "name": "mfu",
                        "unit": "%",
                        "value": self.printed_mfu,
                    }
                ],
            )

    def verdicts(self, warehouse: Warehouse) -> dict[str, Row]:
        rows = warehouse.ask(f"FROM review(figures := '{self.figures}', claims := '{self.claims}')")
        return {RULES[row["rule_order"]]: row for row in rows}


def drop(study: Study, nodes: int, to: int) -> None:
    study.runs = [run for run in study.runs if run["nodes"] != nodes or run["day"] < to]


def without(study: Study, *names: str) -> None:
    for name in names:
        study.settings.pop(name, None)
        study.facts.pop(name, None)


def another_setting(study: Study) -> None:
    """A further size, run with recomputation."""
    nodes = 2 * study.last
    study.runs += [{"id": f"n{nodes}-{k}", "nodes": nodes, "day": k} for k in range(6)]
    study.more_settings = {f"n{nodes}-{k}": {"recompute": "full"} for k in range(6)}


def gap(study: Study) -> None:
    study.gap_of = study.runs[int(study.random.integers(len(study.runs)))]["id"]


Fault = tuple[str, Callable[[Study], Any], str, set[str]]
# The rule that is broken, how, its verdict, and rules that cannot be met either.
FAULTS: list[Fault] = [
    ("base", lambda s: setattr(s, "base_nodes", 2), "not met", set()),
    ("base", lambda s: setattr(s, "base_nodes", None), "cannot tell", set()),
    ("repeats", lambda s: drop(s, s.last, int(s.random.integers(1, 5))), "not met", {"intervals"}),
    ("intervals", lambda s: drop(s, s.last, 5), "not met", set()),
    ("left out", lambda s: setattr(s, "value_kind", "running_mean"), "cannot tell", set()),
    ("settings", another_setting, "not met", set()),
    ("clocks", lambda s: without(s, "device_clock_mhz"), "not met", set()),
    ("clocks", lambda s: without(s, "power_cap_w"), "not met", set()),
    ("energy", gap, "not met", set()),
    ("mfu", lambda s: without(s, "precision"), "cannot tell", {"environment"}),
    ("mfu", lambda s: setattr(s, "printed_mfu", 130.0), "not met", set()),
    ("environment", lambda s: without(s, "cuda_version"), "not met", set()),
    ("environment", lambda s: without(s, "framework_version"), "not met", set()),
    ("noise", lambda s: drop(s, 1, int(s.random.integers(6, 10))), "not met", set()),
    ("figures", lambda s: setattr(s, "figures", "3 1 0"), "not met", set()),
    ("figures", lambda s: setattr(s, "figures", ""), "cannot tell", set()),
    ("claims", lambda s: setattr(s, "claims", "20 2 5"), "not met", set()),
    ("claims", lambda s: setattr(s, "claims", "20 0 5"), "cannot tell", set()),
]  # fmt: skip


def check(warehouse: Warehouse, seed: int) -> None:
    rule, break_it, verdict, others = FAULTS[seed % len(FAULTS)]
    study = Study(seed)
    break_it(study)
    study.insert(warehouse)
    found = study.verdicts(warehouse)
    assert found[rule]["verdict"] == verdict, found[rule]
    assert found[rule]["remedy"]
    kept = {name: row["verdict"] for name, row in found.items() if name != rule and name not in others}
    assert set(kept.values()) == {"met"}, {name: found[name] for name, said in kept.items() if said != "met"}
    assert all(found[name]["verdict"] != "met" for name in others)


def test_a_study_that_lacks_nothing_is_accepted(warehouse: Warehouse, seed: int = 0) -> None:
    study = Study(seed)
    study.insert(warehouse)
    found = study.verdicts(warehouse)
    assert {name: row["verdict"] for name, row in found.items()} == dict.fromkeys(RULES.values(), "met")
    assert all(row["remedy"] is None for row in found.values())


QUICK = (0, 4, 8, 13)  # the others are among the slow ones


@pytest.mark.parametrize("seed", QUICK)
def test_a_broken_rule_is_found(warehouse: Warehouse, seed: int) -> None:
    check(warehouse, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100))
def test_a_broken_rule_is_found_in_a_hundred_studies(warehouse: Warehouse, seed: int) -> None:
    check(warehouse, seed)


def test_nothing_is_met_without_runs(warehouse: Warehouse) -> None:
    assert {row["verdict"] for row in warehouse.ask("FROM review()")} == {"cannot tell"}


@pytest.fixture(scope="module")
def demo_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The runs of the demo on one and two ranks of a machine."""
    root = tmp_path_factory.mktemp("demo") / "warehouse"
    logs = Path(scalelens.__file__).parent / "demo" / "logs"
    scalelens.ingest(*(logs / name for name in ("gpt-r1", "gpt-strong-r2")), warehouse=root)
    return root


def test_the_command_says_how_many_rules_are_met(run: Run, demo_runs: Path) -> None:
    """Exit 1 with --strict alone; LaTeX for an appendix; figures and texts are checked where they are named."""
    answer = run("review", "-w", demo_runs, "--format", "csv")
    assert answer.code == 0 and "rules met" in answer.err
    assert run("review", "-w", demo_runs, "--strict").code == 1
    assert "toprule" in run("review", "-w", demo_runs, "--format", "latex").out


def test_figures_and_texts_are_checked_where_they_are_named(run: Run, demo_runs: Path, tmp_path: Path) -> None:
    figure, text = tmp_path / "scaling.csv", tmp_path / "paper.md"
    text.write_text("The first run has 1 device.\n")
    figure.write_text("no figure of ScaleLens\n")
    answer = run("review", "-w", demo_runs, "--figure", figure, "--text", text, "--format", "csv")
    rows = pl.read_csv(answer.out.encode())
    assert rows["evidence"][10] == "0 of 1 figures differ from the logs, 1 cannot be checked"
    assert "numbers differ from the logs" in rows["evidence"][11]
    refused = run("review", "-w", demo_runs, "--claims", text)
    assert refused.code == 2 and "--text FILE" in refused.err


def test_the_report_counts_the_rules(warehouse: Warehouse) -> None:
    rows = pl.DataFrame(warehouse.ask("FROM review(figures := '3 1 0')"))
    first, second = review.sentences(rows, {})
    assert first.text == "0 of 12 rules are met, 1 is not; the logs do not say enough about the other 11."
    assert second.text == "Not met: figures follow from the logs (SC artifact evaluation)."
    assert review.nothing(rows.clear())
