"""Published results: what the digits leave open, and every derived number computed again, apart from the query."""

import re
from decimal import Decimal
from math import prod
from pathlib import Path

import pytest

import scalelens
from command_line import Run, one_line
from conftest import ROOT
from little_warehouse import Warehouse, fill_catalogs
from scalelens import catalog
from scalelens.catalog.printed_numbers import printed_number

ROWS = catalog.rows("published")
IDENTITIES = catalog.rows("published_identities")
DOCUMENTS = {row["document"] for row in catalog.rows("published_documents")}
KEYS = ("nodes", "devices", "micro_batch_size", "global_batch_size")
Interval = tuple[Decimal, Decimal]


@pytest.mark.parametrize(
    ("text", "unit", "relation", "low", "high"),
    [
        ("4.08", "1/s", "=", "4.075", "4.085"),
        ("27.60", "1/s", "=", "27.595", "27.605"),  # a zero at the end is a digit
        ("8,642", "images/second", "=", "8641.5", "8642.5"),
        ("70,000", "images", "=", "70000", "70000"),  # a count
        ("14,000", "images/second", "about", "13500", "14500"),
        ("10⁶", "images", "=", "1000000", "1000000"),
        ("1.28", "million images", ">=", "1275000", ""),
        ("20", "% more", "=", "1.195", "1.205"),
        ("90", "%", ">=", "0.895", ""),
        ("33", "Wh", "=", "117000", "120600"),
        ("384", "TFLOPS", "<=", "", "384500000000000"),
        ("1.13.0", "version", "=", "", ""),
    ],
)
def test_printed_digits_leave_an_interval(text: str, unit: str, relation: str, low: str, high: str) -> None:
    cells = printed_number(text, unit, relation)
    ends = [Decimal(cells[end]) if cells[end] else "" for end in ("number_low", "number_high")]
    assert ends == [Decimal(end) if end else "" for end in (low, high)]


def test_rows_are_of_a_document_and_of_one_meaning() -> None:
    assert {row["name"].split("/")[0] for row in ROWS} == DOCUMENTS
    for row in ROWS:
        assert row["relation"] in ("=", "about", ">=", "<=") and row["part"], row
        assert re.fullmatch(r"[a-z0-9_]+", row["quantity"]), row
        assert row["number"] is not None or row["unit"] == "version", row
    units: dict[tuple[str, str], set[str | None]] = {}
    for row in ROWS:
        units.setdefault((row["name"], row["quantity"]), set()).add(row["number_unit"])
    assert all(len(found) == 1 for found in units.values())


def known(name: str, quantity: str, entry: int) -> Interval | None:
    """What the printed digits of a quantity leave possible, summed where it is printed in parts."""
    for of_entry in (entry, 0):
        found = [r for r in ROWS if (r["name"], r["quantity"], r["entry"]) == (name, quantity, of_entry)]
        if found:
            ends = [printed_number(r["printed"], r["unit"], r["relation"]) for r in found]
            lows, highs = ([end[key] for end in ends] for key in ("number_low", "number_high"))
            return sum(map(Decimal, (x or "0" for x in lows))), sum(map(Decimal, (x or "Infinity" for x in highs)))
        values = [r[quantity] for r in ROWS if quantity in KEYS and (r["name"], r["entry"]) == (name, of_entry)]
        if any(values):
            return (Decimal(max(filter(None, values))),) * 2
    return None


def term(text: str, name: str, entry: int) -> Interval | None:
    found = re.fullmatch(r"(?:([\w-]+)\.)?(\w+)(?:\[(\d+)\])?", text)
    assert found, text
    return known(f"{name.split('/')[0]}/{found[1]}" if found[1] else name, found[2], int(found[3] or entry))


def follows(identity: dict, entry: int) -> bool | None:
    """Whether a derived number can be true; None where a number that it follows from is not printed."""
    terms = [identity["derived"].partition("[")[0], *(identity["numerator"] or "").split()]
    n_above, terms = len(terms), terms + (identity["denominator"] or "").split()
    found = [interval for text in terms if (interval := term(text, identity["name"], entry))]
    if len(found) < len(terms):
        return None
    derived, above, below = found[0], found[1:n_above], found[n_above:]
    low = prod((low for low, _ in above), start=Decimal(1)) / prod((high for _, high in below), start=Decimal(1))
    high = prod((high for _, high in above), start=Decimal(1)) / prod((low for low, _ in below), start=Decimal(1))
    slack = Decimal("1e-12")  # 1/3600 has no end
    is_low_enough = derived[0] <= high * (1 + slack) or identity["relation"] == ">="
    return is_low_enough and (derived[1] >= low * (1 - slack) or identity["relation"] == "<=")


def entries(identity: dict) -> list[int]:
    """Entries that print the derived quantity."""
    quantity, _, only = identity["derived"].rstrip("]").partition("[")
    of_name = [row for row in ROWS if row["name"] == identity["name"]]
    found = {row["entry"] for row in of_name if row["quantity"] == quantity or row.get(quantity) is not None}
    return sorted(entry for entry in found if not only or entry == int(only))


def test_every_derived_number_is_recomputed_with_decimals_and_the_query_says_the_same(warehouse: Warehouse) -> None:
    judged = [(row["name"], entry, row["meaning"], follows(row, entry)) for row in IDENTITIES for entry in entries(row)]
    expected = [row for row in judged if row[3] is not None]
    asked = warehouse.ask("FROM published_checks()")
    assert [(row["name"], row["entry"], row["meaning"], row["follows"]) for row in asked] == expected
    assert {row[2] for row in expected} == {row["meaning"] for row in IDENTITIES}, "each identity judges a number"


def test_a_number_is_not_judged_by_terms_that_nobody_printed(warehouse: Warehouse) -> None:
    """As many above the line as below it: what is not known must not count as 1."""
    before = warehouse.column("SELECT count(*) FROM published_checks()")
    warehouse.connection.execute(
        "INSERT INTO published_identities BY NAME SELECT * REPLACE (9999 AS place, 'unprinted' AS numerator, "
        "'unknown' AS denominator) FROM published_identities WHERE place = (SELECT min(place) FROM published_identities)"
    )
    after = warehouse.column("SELECT count(*) FROM published_checks()")
    fill_catalogs(warehouse.connection)
    assert after == before


def test_the_known_contradictions_are_found_and_their_neighbours_are_not(warehouse: Warehouse) -> None:
    rows = warehouse.ask("FROM published_checks() WHERE NOT follows")
    off = {(row["name"], row["entry"], row["quantity"]): row["off"] for row in rows}
    assert off["tamu/table-4", 10, "epoch_time"] == pytest.approx(105_580 / 70_000 - 1, abs=1e-4)
    assert off["caraml/gpt-ipu", 1, "energy_per_device"] == pytest.approx(
        15.68 * 64.99 * 3600 / 256 / 300 - 1, abs=1e-4
    )
    assert off["epicure/partitions", 4, "nodes_of_partition"] == pytest.approx(6408 / 6490 - 1)
    assert [key[1] for key in off if key[0] == "tamu/table-3"] == [10, 11, 12]
    assert ("tamu/table-4", 9, "epoch_time") not in off
    assert not [key for key in off if key[0].startswith(("frontier/", "pdc/"))]


def test_what_is_expected_is_in_the_unit_that_the_document_prints(warehouse: Warehouse) -> None:
    """300 W for the time of an epoch of 256 sequences at 64.99 a second are 0.328 Wh, beside 15.68 Wh as printed."""
    rows = warehouse.ask("FROM published_checks() WHERE unit <> 'version' AND printed NOT LIKE '% + %'")
    for row in rows:
        power_of_ten = {"10⁶": "1000000"}.get(row["printed"], row["printed"].replace(",", ""))
        assert row["number"] == pytest.approx(float(power_of_ten)), row
    energies = {row["entry"]: row for row in rows if row["quantity"] == "energy_per_device"}
    assert energies[1]["expected"] == pytest.approx(300 * 256 / 64.99 / 3600) and energies[1]["unit"] == "Wh"
    work = [row for row in rows if row["quantity"] == "tokens_per_energy" and row["entry"] == 1]
    assert sorted(row["expected"] for row in work) == pytest.approx([64 / 15.68, 256 / 15.68])
    (gain,) = (row for row in rows if row["unit"] == "% more")
    assert gain["number"] == 25 and gain["off"] == pytest.approx(1.25 / (1 + gain["expected"] / 100) - 1)


def test_each_table_that_has_a_derived_column_has_an_identity() -> None:
    """What is derived in the documents' tables: ratios, work over energy, times of known work, sums of parts."""
    derived = {
        "tokens_per_energy",
        "samples_per_energy",
        "epoch_time",
        "training_time",
        "nodes_of_partition",
        "efficiency",
    }
    judged = {(row["name"], row["derived"].partition("[")[0]) for row in IDENTITIES}
    printed = {(row["name"], row["quantity"]) for row in ROWS if row["quantity"] in derived}
    assert printed <= judged


def test_the_page_names_each_document_and_lists_what_does_not_follow(warehouse: Warehouse) -> None:
    page = (ROOT / "docs" / "published.md").read_text()
    assert all(f"`{document}/...`" in page for document in DOCUMENTS)
    listed = set(re.findall(r"^\| `([\w/-]+)` \| \d", page, re.MULTILINE))
    assert listed == {row["name"] for row in warehouse.ask("FROM published_checks() WHERE NOT follows")}


def test_a_run_stands_beside_the_row_of_its_devices_and_batch(warehouse: Warehouse) -> None:
    """Half the published rate on as many devices; the batch of another row; and a model that is another one's."""
    facts = {"devices": 4, "device_unit": "ipu", "name": "x"}
    for run_id, model, batch in (("same", "gpt-117m", 128), ("other", "gpt-117m", 96), ("resnet", "resnet50", 128)):
        step_s = batch / (97.21 / 2)
        warehouse.run(
            run_id,
            [step_s] * 8,
            steps={"samples": batch},
            **facts,
            model=model,
            global_batch_size=batch,
            micro_batch_size=1,
        )
    rows = warehouse.ask("FROM compare_published(published_name := 'caraml/gpt-ipu')")
    assert [(row["run_id"], row["entry"], row["printed"]) for row in rows] == [("same", 2, "97.21")]
    assert rows[0]["ratio"] == pytest.approx(0.5) and rows[0]["is_as_printed"] is False
    assert rows[0]["differs"] is None and rows[0]["unknown"] == "system, device, nodes, micro-batch"


def test_only_rows_of_the_same_model_and_of_no_other_framework_stand_beside_a_run(warehouse: Warehouse) -> None:
    facts = {"devices": 1, "device_unit": "ipu", "model": "rn50"}
    for framework in ("pytorch", "tensorflow", None):
        warehouse.run(str(framework), [0.5] * 8, steps={"samples": 500}, **facts, framework=framework)
    rows = warehouse.ask("FROM compare_published() WHERE name = 'tamu/table-1'")
    assert [(row["run_id"], row["entry"], row["differs"]) for row in rows] == [("None", 1, None), ("pytorch", 1, None)]
    assert rows[0]["unknown"].startswith("framework, ") and "framework" not in rows[1]["unknown"]
    assert all("second epoch" in row["note"] for row in rows)
    asked = warehouse.ask("FROM compare_published(published_name := 'tamu/table-1')")
    assert [row["differs"] for row in asked] == [None, None, "framework tensorflow -> PyTorch"]


@pytest.mark.parametrize(
    ("of_the_run", "published", "is_same"),
    [
        ("resnet50", "ResNet-50", True),
        ("rn50", "ResNet-50", True),
        ("resnet50_v1.5", "ResNet-50", True),
        ("resnet50_v2", "ResNet-50", False),
        ("resnet101", "ResNet-50", False),
        ("tf_efficientnet_b0", "EfficientNet-B0", True),
        ("efficientnet_b4", "EfficientNet-B0", False),
        ("mobilenetv3_large_100", "MobileNet v3 large", True),
        ("mobilenet_v3_small", "MobileNet v3 large", False),
        ("bert-base-uncased", "BERT base SQuAD fine-tuning", True),
        ("gpt-854m-24x1636", "GPT 857M", True),
        ("gpt-175b-96x12288", "GPT 175B", True),
        ("gpt-1.01t-128x25600", "GPT 1T", True),
        ("gpt-175m", "GPT 175B", False),
        ("gpt-124m", "GPT 117M", False),
        ("gpt-j-6b", "GPT 6B", False),
    ],
)
def test_names_of_models_match_by_meaning(of_the_run: str, published: str, is_same: bool, warehouse: Warehouse) -> None:
    (row,) = warehouse.ask(f"SELECT is_same_model('{of_the_run}', '{published}') AS same")
    assert row["same"] is is_same


def test_of_several_rows_that_fit_the_nearest_one_counts_alone(warehouse: Warehouse) -> None:
    """EPICURE states the least efficiency of FP32 and of AMP: the row of the other precision is no second fit."""
    facts = {"model": "resnet50", "precision": "fp32", "device_unit": "gpu", "micro_batch_size": 256}
    for devices, step_s in ((4, 0.5), (8, 0.55)):
        steps = {"samples": 256 * devices}
        warehouse.run(
            f"d{devices}", [step_s] * 12, steps=steps, devices=devices, global_batch_size=256 * devices, **facts
        )
    (row,) = warehouse.ask("FROM compare_published(published_name := 'epicure/vision')")
    assert row["entry"] == 3 and row["measured"] == pytest.approx(100 * 0.5 / 0.55) and row["is_as_printed"]


def test_efficiencies_are_compared_by_their_kind_of_scaling(warehouse: Warehouse) -> None:
    facts = {"model": "gpt-175b", "precision": "fp16", "device_unit": "gcd", "global_batch_size": 8000}
    for devices, step_s in ((128, 80.0), (1024, 10.0 / 0.899)):
        steps = {"samples": 8000}
        warehouse.run(f"d{devices}", [step_s] * 12, steps=steps, devices=devices, nodes=devices // 8, **facts)
    rows = warehouse.ask("FROM compare_published(published_name := 'frontier/scaling')")
    assert [(row["run_id"], row["entry"], row["is_as_printed"]) for row in rows] == [("d1024", 1, True)]
    assert rows[0]["measured"] == pytest.approx(89.9) and "strong scaling from 128 devices" in rows[0]["note"]


def test_the_command_lays_runs_beside_a_published_table(tmp_path: Path, run: Run) -> None:
    demo_runs = tmp_path / "w"
    scalelens.ingest(ROOT / "src" / "scalelens" / "demo" / "logs" / "fp32-r1", warehouse=demo_runs)
    one_line(run("compare", "--published", "tamu/table3", "-w", demo_runs), "did you mean tamu/table-3?")
    one_line(
        run("compare", "--published", "tamu/table-3", "devices > 1", "devices < 9", "-w", demo_runs), "one condition"
    )
    one_line(run("compare", "fp32-r1", "-w", demo_runs), "two sides")
    ran = run("compare", "--published", "caraml/gpt-ipu", "devices = 3", "-w", demo_runs, "--format", "csv")
    assert ran.code == 0 and ran.out.startswith("name,entry,run_id") and ran.out.count("\n") == 1
    assert "no run has the devices and the batch of any row" in ran.err


def test_each_system_of_the_documents_is_there_and_no_cell_is_of_another_document(warehouse: Warehouse) -> None:
    rows = {(row["document"], row["system"]): row for row in warehouse.ask("FROM published_systems()")}
    described = {
        (row["name"].split("/")[0], row["system"])
        for row in ROWS
        if row["name"].split("/")[1] in ("systems", "partitions", "accelerators")
    }
    assert described <= set(rows)
    lumi = rows["epicure", "LUMI-G"]
    assert (lumi["nodes_of_partition"], lumi["devices_per_node"], lumi["devices_as_counted"]) == ("2978", "4", "8")
    assert lumi["tdp"] is None and lumi["topology"] == "Dragonfly", "the guide prints no power limit"
    assert rows["caraml", "H100 (JURECA)"]["tdp"] == "350 W"
    assert rows["epicure", "Deucalion"]["device_memory"] == "40 GiB or 80 GiB"


KERAS = """Epoch 1/2
7000/7000 [==============================] - 71s 10ms/step - loss: 0.0450
Epoch 2/2
7000/7000 [==============================] - 24s 3ms/step - loss: 0.0400
"""


def test_a_rate_of_epochs_in_whole_seconds_is_what_the_rounding_allows(tmp_path: Path) -> None:
    """Keras prints 24 s and 3 ms: 10 images in 3 ms would be 3,333 a second, which no epoch of 23.5 to 24.5 s has."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "train.log").write_text(KERAS)
    facts = 'model = "residual autoencoder on MNIST"\ndevices = 1\ndp = 1\nmicro_batch_size = 10\ndevice_unit = "ipu"\n'
    (tmp_path / "logs" / "scalelens.toml").write_text(f"[facts]\n{facts}")
    scalelens.ingest(tmp_path / "logs", warehouse=tmp_path / "w")
    ends = "samples_per_s_low, samples_per_s, samples_per_s_high"
    (epoch,) = scalelens.sql(f"SELECT {ends} FROM epoch_times(epochs := '1')", warehouse=tmp_path / "w").rows()
    assert epoch == (pytest.approx(70_000 / 24.5), pytest.approx(70_000 / 24), pytest.approx(70_000 / 23.5))
    (rate,) = scalelens.sql(
        "SELECT samples_per_s, note FROM throughput(epochs := '1')", warehouse=tmp_path / "w"
    ).rows()
    assert rate[0] == pytest.approx(10 / 0.003)
    assert "times of steps are in whole milliseconds: samples_per_s is between 2857 and 4000" in rate[1]
    asked = "SELECT measured, is_as_printed, note FROM compare_published(published_name := 'tamu/table-4')"
    (row,) = scalelens.sql(asked, warehouse=tmp_path / "w").rows()  # without the first epoch, which compiles
    assert row == (pytest.approx(70_000 / 24), True, "from epochs in whole seconds: 2857 to 2979")


def test_times_of_epochs_that_are_finer_have_no_such_bounds(tmp_path: Path) -> None:
    spans = "".join(
        f':::SCALELENS {{"event": "phase", "phase": "train", "epoch": {epoch}, "step": {epoch + 1}, "span_s": {span_s}, '
        '"samples": 1000, "rank": 0}\n'
        for epoch, span_s in enumerate((11.0, 10.0, 10.5))
    )
    (tmp_path / "train.log").write_text(':::SCALELENS {"event": "run", "framework": "pytorch", "rank": 0}\n' + spans)
    scalelens.ingest(tmp_path / "train.log", warehouse=tmp_path / "w")
    rates = scalelens.sql("SELECT samples_per_s, samples_per_s_low FROM epoch_times()", warehouse=tmp_path / "w").rows()
    assert rates == [(pytest.approx(1000 / span_s), None) for span_s in (11.0, 10.0, 10.5)]
