"""Power and energy: what no golden of one file can show."""

import io
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from asking import answer, ask_sql
from conftest import FIXTURES, as_dicts
from scalelens.ingestion import formats
from scalelens.ingestion.ingest import ingest
from scalelens.ingestion.recognize import read_rows
from scalelens.parsers import generic_csv, power_lines
from scalelens.parsing.jpwr_names import jpwr_host, jpwr_rank
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensors import epoch, stamp_of, watts
from scalelens.parsing.source import Source, open_source
from scalelens.tabular.energy_columns import energy_column
from scalelens.tabular.power_columns import power_column

LOADED = formats.load()
Tables = dict[str, list[dict[str, Any]]]


def tables_of(source: Source, zone: str | None = None) -> Tables:
    """Rows of a file by table, with times as nanoseconds since 1970."""
    tables: Tables = {}

    def keep(table: str, batch: Any) -> None:
        held = as_dicts(batch)
        if table == "power":
            for row, ns in zip(held, batch["ts"].cast("int64").to_pylist(), strict=True):
                row["ns"] = ns
        tables.setdefault(table, []).extend(held)

    rows = Rows("f", keep, ZoneInfo(zone) if zone else None)
    read_rows(source, LOADED, rows)
    rows.flush()
    return tables


def read(content: str | bytes, name: str = "job.log", zone: str | None = None) -> Tables:
    content = content.encode() if isinstance(content, str) else content
    return tables_of(Source(name, io.BytesIO(content), len(content), 0), zone)


# jpwr's own energies


def right_riemann(power: list[dict[str, Any]]) -> dict[str, float]:
    """Joules by device, as jpwr adds them up."""
    energies = {}
    for device in {row["device"] for row in power}:
        of_device = [row for row in power if row["device"] == device]
        energies[device] = sum(
            after["power_w"] * ((after["ns"] - before["ns"]) / 1e9) for before, after in pairwise(of_device)
        )
    return energies


def pairs(folder: Path) -> Iterator[tuple[Path, Path]]:
    """Files of samples, each with that of its energies."""
    for path in sorted(folder.rglob("*")):
        if path.name.startswith("power."):
            energies = path.with_name(path.name.replace("power", "energy", 1))
            if energies.exists() and path.suffix != ".status":  # else it is a golden
                yield path, energies
        elif path.name.endswith(".energy.csv") and path.name != "energy.energy.csv":
            yield path.with_name(path.name.replace(".energy", "")), path


def assert_reproduced(folder: Path) -> int:
    devices = 0
    for samples, energies in pairs(folder):
        ours = right_riemann(tables_of(open_source(samples))["power"])
        for row in tables_of(open_source(energies))["energy"]:
            assert ours[row["device"]] == pytest.approx(row["energy_j"], rel=1e-9), (samples, row["device"])
            assert row["method"] == "riemann_right"
            devices += 1
    return devices


def test_jpwr_energies_follow_from_its_samples() -> None:
    assert assert_reproduced(FIXTURES / "jpwr_hdf5") == 4


def test_jpwr_energies_of_all_its_files_follow_from_its_samples(corpus: Path) -> None:
    assert assert_reproduced(corpus / "generated" / "jpwr") == 8 + 4 + 4 + 8


@pytest.mark.parametrize(
    ("name", "host", "rank"),
    [
        ("power.jwb0001.1234.csv", "jwb0001", None),
        ("power.jwb0001.juwels.1234.h5", "jwb0001.juwels", None),
        ("power.3.jwb0001.1234.csv", "jwb0001", 3),
        ("power.None.jwb0001.1234.csv", "jwb0001", None),
        ("power.rank_2.jwb0001.1234.csv", "jwb0001", None),
        ("energy-from-counter.0.nid005033.77.csv", "nid005033", 0),
        ("power.7.csv", None, 7),
        ("power.csv", None, None),
        ("H100_power.0.csv", None, None),
    ],
)
def test_names_of_jpwr_say_host_and_rank(name: str, host: str | None, rank: int | None) -> None:
    assert (jpwr_host(name), jpwr_rank(name)) == (host, rank)


# Times and units


@pytest.mark.parametrize(
    ("text", "unit"),
    [("1795238790.25", "s"), ("1795238790250", "ms"), ("1795238790250000", "us"), ("1795238790250000000", "ns")],
)
def test_the_unit_of_a_time_since_1970_is_told_by_its_size(text: str, unit: str) -> None:
    assert epoch(text) == (1795238790250000000, unit)


@pytest.mark.parametrize("text", ["13586410.28", "20260102", "0", "-1", "nan", "inf", "9" * 400, "", "now"])
def test_other_numbers_are_no_time(text: str) -> None:
    assert stamp_of(text) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("2026-01-02T03:04:05Z", ("2026-01-02 03:04:05", "utc")),
        ("2026-01-02 03:04:05.25+01:00", ("2026-01-02 02:04:05.250000", "utc")),
        ("2026-01-02T03:04:05-0530", ("2026-01-02 08:34:05", "utc")),
        ("2026/01/02 03:04:05.678", ("2026-01-02 03:04:05.678000", "naive")),
    ],
)
def test_times_of_the_calendar(text: str, said: tuple[str, str]) -> None:
    stamp = stamp_of(text)
    assert stamp and (str(stamp[0]), stamp[1]) == said


def test_watts_by_the_unit_that_is_written() -> None:
    assert [watts(text) for text in ("63.86 W", "1200 mW", "1.5kW", "7")] == [63.86, 1.2, 1500, 7]
    assert watts("1200", 1e-3) == 1.2
    assert all(np.isnan(watts(text)) for text in ("[N/A]", "[Not Supported]", "N/A (Secondary die)", "-", "", "1e18"))
    assert [watts(text) for text in ("-5", "abc", "1.2.3", "12 J")] == [None] * 4


def test_local_times_become_utc_where_the_zone_is_said() -> None:
    text = (FIXTURES / "nvidia_smi_query" / "indexed.csv").read_text()
    first = read(text, zone="Europe/Berlin")["power"][0]
    assert (first["ts"], first["ts_origin"]) == ("2026-01-02 02:04:05.678000000", "utc")


# Files that need their names


def test_a_counter_is_named_by_its_file() -> None:
    lines = "724 W 1795238790307355 us\n730 W 1795238790407355 us\n730 W 1795238790407355 us\n0 W 1795238790507355 us\n"
    power = read(lines, "run7_accel1_power.txt")["power"]
    assert [(row["device"], row["power_w"], row["flag"], row["ts_origin"]) for row in power] == [
        ("accel1", 724, None, "utc"), ("accel1", 730, None, "utc"), ("accel1", 730, "stale", "utc"), ("accel1", 0, "zero", "utc"),
    ]  # fmt: skip
    (problem,) = read(lines, "out.txt")["problems"]
    assert "which counter" in problem["reason"]


def test_a_list_of_numbers_is_refused() -> None:
    tables = read("28.44\n28.45\n71.50\n", "power_log.csv")
    assert list(tables) == ["problems"]
    assert "their unit and their times are not known" in tables["problems"][0]["reason"]


READING = ':::MLLOG {{"namespace": "", "time_ms": {}, "event_type": "POINT_IN_TIME", "key": "power_reading", "value": {}, "metadata": ""}}\n'


@pytest.mark.parametrize(
    ("folder", "scope"), [("smc-ac-power", "node_ac"), ("smc-dc-power", "node_dc"), ("other", None)]
)
def test_mlperf_nodes_are_named_by_file_and_folder(folder: str, scope: str | None) -> None:
    tables = read(READING.format(1715341080337, 2090), f"/x/{folder}/results/bert/power/result_7/node_12.txt")
    (power,) = tables["power"]
    assert (power["node"], power["device"], power["scope"], power["power_w"]) == ("node_12", "node", scope, 2090)
    assert list(tables) == ["power"], "mllog must not take readings for settings"


def test_nodes_with_the_same_bytes_are_one_file_with_two_paths(tmp_path: Path) -> None:
    folder = tmp_path / "power" / "result_1"
    folder.mkdir(parents=True)
    readings = "".join(READING.format(1715341080337 + 2000 * k, 2000 + k) for k in range(3))
    for name in ("node_3.txt", "node_5.txt"):
        (folder / name).write_text(readings)
    (folder / "node_4.txt").write_text(readings.replace(": 2000,", ": 2001,"))
    ingest([tmp_path / "power"], tmp_path / "w", jobs=1)
    twins = answer(
        tmp_path / "w",
        "SELECT DISTINCT node, [parse_filename(path) FOR path IN paths] AS names "
        "FROM power JOIN files USING (file_id) ORDER BY node"
    ).fetchall()  # fmt: skip
    assert twins == [("node_3", ["node_3.txt", "node_5.txt"]), ("node_4", ["node_4.txt"])]


# Tables of nobody's format


def test_tables_of_steps_are_left_to_others() -> None:
    for header in ("step,time,power_w", "timestamp,iteration,gpu_power_w", "timestamp,step_time_s,power_w"):
        tables = read(f"{header}\n1795238790,1795238791,300\n1795238790,1795238792,300\n", "metrics.csv")
        assert "power" not in tables, header


@pytest.mark.parametrize("header", ["time,power_limit_w", "time,max_power_w", "time,loss_w", "date,willpower"])
def test_what_only_looks_like_power_is_none(header: str) -> None:
    assert "power" not in read(f"{header}\n1795238790,300\n1795238791,301\n", "a.csv")


def test_a_format_that_knows_a_table_better_reads_it() -> None:
    text = "timestamp,device,Average Graphics Package Power (W)\n1795238790,card0,237.0\n"
    assert read(text)["power"][0]["device"] == "card0"


# Real files


def in_corpus(corpus: Path, end: str) -> Tables:
    (path,) = [path for path in (corpus / "power").rglob("*") if str(path).endswith(end)]
    with closing(open_source(path)) as source:
        return tables_of(source)


def test_every_file_of_power_is_understood_or_refused_with_a_reason(corpus: Path) -> None:
    refused = {}
    for path in sorted(path for folder in ("power", "generated/jpwr") for path in (corpus / folder).rglob("*")):
        if path.is_file() and "popliner" not in str(path):  # the report itself lies elsewhere
            with closing(open_source(path)) as source:
                tables = tables_of(source)
            assert tables, path
            if list(tables) == ["problems"]:
                refused[path.name] = tables["problems"][0]["reason"]
    assert {name: reason.split(":")[0] for name, reason in refused.items()} == {
        "power_log.csv": "a list of numbers without a header",
        "summary_power_v100.csv": "a summary of many runs",
        "summary_train.csv": "a summary of many runs",
    }


def test_mlperf_readings_at_the_wall_and_behind_the_supply(corpus: Path) -> None:
    results = "smc-{}-power/results/1xSMC-H100-SXM-80GB/bert/power/result_5119-240510190348838227199_07/node_0.txt"
    ac, dc = (in_corpus(corpus, results.format(kind)) for kind in ("ac", "dc"))
    assert len(ac["power"]) == len(dc["power"]) == 225
    assert {row["scope"] for row in ac["power"]} == {"node_ac"}
    assert {row["scope"] for row in dc["power"]} == {"node_dc"}
    assert {row["node"] for row in ac["power"]} == {"node_0"}
    ratios = np.array([row["power_w"] for row in dc["power"]]) / np.array([row["power_w"] for row in ac["power"]])
    assert np.median(ratios) == pytest.approx(0.971, abs=1e-3)
    assert np.ptp(ratios) > 0.05
    (problem,) = ac["problems"]
    assert problem["reason"] == "power_measurement_stop has the time of the start"
    began = {row["name"]: row["value"] for row in ac["metrics"]}
    assert began == {"power_measurement_start": 1715341415.151, "power_measurement_stop": 1715341415.151}


def test_mlperf_switches_are_constant_and_their_stamp_is_not_of_the_run(corpus: Path) -> None:
    (switch,) = in_corpus(corpus, "64xSMC-H100-SXM-80GB/gpt3/power/result_5848-240517221859825376616_2/sw_0.txt")[
        "power"
    ]
    assert (switch["device"], switch["scope"], switch["power_w"], switch["ts"]) == ("sw_01", "switch", 59570, None)
    (total,) = in_corpus(corpus, "total_power.txt")["energy"]
    assert total["energy_j"] == pytest.approx(415.22 * 3.6e6)


def test_a_training_log_beside_power_files_keeps_its_facts(corpus: Path) -> None:
    tables = in_corpus(corpus, "smc-ac-power/results/1xSMC-H100-SXM-80GB/bert/result_5119-240510190348838227199_07.txt")
    assert "power" not in tables
    assert len(tables["steps"]) == 18


def test_a_column_that_is_called_index_need_not_be_one(corpus: Path) -> None:
    tables = in_corpus(corpus, "nvidia_smi.csv")
    counts = Counter(row["device"] for row in tables["power"])
    assert counts == {**dict.fromkeys("012", 6), **dict.fromkeys("34567", 5)}, "the last sweep is cut"
    assert tables["power"][0]["ts"] == "2025-09-08 09:26:50.000000000"
    assert "index does not tell the devices apart" in tables["problems"][0]["reason"]


def test_codecarbon_by_the_names_of_three_schemas(corpus: Path) -> None:
    new = in_corpus(corpus, "emissions_valid_headers.csv")
    assert [(row["device"], row["energy_j"]) for row in new["energy"]] == [
        ("ram", pytest.approx(0.00057442898176 * 3.6e6)), ("total", pytest.approx(0.00057442898176 * 3.6e6)),
    ]  # fmt: skip
    (old,) = in_corpus(corpus, "emissions_invalid_headers.csv")["energy"]
    assert (old["device"], old["span_s"]) == ("total", 210.39603400230408)
    many = in_corpus(corpus, "examples/emissions.csv")
    # 28 rows: a tracker writes one for each flush, and they go on counting.
    assert [row["line"] for row in many["energy"] if row["device"] == "total"][:4] == [2, 3, 5, 13]
    flushed = next(row for row in many["energy"] if row["line"] == 13 and row["device"] == "cpu")
    assert flushed["span_s"] == pytest.approx(91.82258701324463)
    assert {row["method"] for row in many["energy"]} == {"codecarbon"}


def test_zeus_windows_are_joules_and_have_no_time(corpus: Path) -> None:
    tables = in_corpus(corpus, "A40+resnet50+gpu0,1,2,3.csv")
    assert len(tables["energy"]) == 9 * 4
    first = tables["energy"][0]
    assert (first["device"], first["scope"], first["energy_j"]) == ("0", "gpu", 1067.512999996543)
    assert first["span_s"] == 8.226085375994444
    assert "power" not in tables


def test_zeus_measures_the_gpus_of_one_node(corpus: Path) -> None:
    log = corpus / "llm/stark-sim__megatron-deepspeed-lock-clock/.context/dual32_run_v2.log"
    with closing(open_source(log)) as source:
        energies = tables_of(source)["energy"]
    assert {row["device"].count(",") + 1 for row in energies} == {16}, "of 32 GPUs"
    assert energies[0]["energy_j"] == 2872819.8


@pytest.mark.parametrize(("name", "field"), [("instant", "power.draw.instant"), ("mean_of_second", "power.draw")])
def test_the_note_says_which_power_of_nvidia_smi_was_read(tmp_path: Path, name: str, field: str) -> None:
    """Samples that are closer than the second of which power.draw is the mean take the power of the moment."""
    (tmp_path / "power.csv").write_bytes((FIXTURES / "nvidia_smi_query" / f"{name}.csv").read_bytes())
    ingest([tmp_path], tmp_path / "w")
    ((note,),) = ask_sql(tmp_path / "w", "SELECT note FROM files").rows()
    assert note.startswith(f"of power.draw and power.draw.instant, {field} is read")


@pytest.mark.parametrize("first", ["2026-01-02 03:04:05 begins", "a log of something else"])
def test_lines_of_power_are_recognized_with_one_look_at_each_character(
    first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Indented lines were searched with all lines above them: half a second for the head of one log."""
    head = (f"{first}\n" + 1_000 * "  an indented line of 40 characters, about\n").encode()
    searched, pattern = 0, power_lines.WATTS

    class Counting:
        def search(self, text: str, start: int = 0) -> object:
            nonlocal searched
            searched += len(text) - start
            return pattern.search(text, start)

        findall = staticmethod(pattern.findall)

    monkeypatch.setattr(power_lines, "WATTS", Counting())
    assert not power_lines.recognise(head, "a.log")
    assert searched < 3 * len(head)


def test_a_power_that_two_lines_hold_is_found() -> None:
    head = b"2026-01-02 03:04:05\n  gpu 0: 47\n  W\n2026-01-02 03:04:06\n  gpu 0: 48\n  W\n2026-01-02 03:0"
    assert power_lines.recognise(head, "a.log")


def test_power_of_one_program_is_not_read_as_the_machine() -> None:
    table = (FIXTURES / "powerjoular" / "first.csv").read_text()
    assert "power" in read(table, "power.csv")
    tables = read(table, "power.csv-4711.csv")
    assert "power" not in tables
    assert "share" in tables["problems"][0]["reason"]


def test_power_of_both_gpus_is_not_taken_for_a_total() -> None:
    rows = "".join(f"2026-01-02 03:04:0{k},{gpu},{100 + k}\n" for k in range(2) for gpu in range(2))
    power = read("timestamp,gpu,power_w\n" + rows, "power.csv")["power"]
    assert {row["device"] for row in power} == {"0", "1"}


def test_document_with_several_series_is_refused() -> None:
    series = '[{"time_s": 0, "power_w": 100}, {"time_s": 1, "power_w": 100}]'
    tables = read(f'{{"first": {series}, "second": {series}}}', "power.json")
    assert "power" not in tables


def test_cumulative_energies_of_a_few_rows_are_not_added_up() -> None:
    table = "Elapsed Time (sec),Cumulative Energy (J)\n1,10\n2,20\n3,30\n"
    assert "energy" not in read(table, "energy.csv")


def test_page_says_for_each_tool_what_its_number_covers() -> None:
    page = (Path(__file__).parent.parent / "docs" / "energy.md").read_text().lower()
    for path in Path(power_lines.__file__).parent.glob("*.py"):
        text = path.read_text()
        if re.search(r"^Yields:.*\b(?:power|energy)\b", text, re.MULTILINE):
            tool = re.search(r"^Tool: (?:the )?([\w.-]+)", text, re.MULTILINE)
            known = {path.stem, path.stem.replace("_", "-"), tool[1].lower() if tool else ""}
            known |= {path.stem.partition("_")[0].replace("wandb", "w&b")}
            assert any(name and name in page for name in known), path.name


# Names of columns


@pytest.mark.parametrize(
    ("name", "scale"),
    [
        ("P (W)", 1.0), ("Load(W)", 1.0), ("power_micro_watts", 1e-6), ("GPU0_POWER (mWatts)", 1e-3), ("mW", 1e-3),
        ("power_cpu_watts_socket_0", 1.0), ("PkgWatt", 1.0), ("gpuPowermW", 1e-3), ("totalPowerW", 1.0),
        ("power_MW", None), ("power", None),
    ],
)  # fmt: skip
def test_unit_of_a_power_is_what_its_name_says(name: str, scale: float | None) -> None:
    column = power_column(0, name)
    assert column is not None
    assert column.scale == scale


@pytest.mark.parametrize(
    "name",
    [
        "tokens_per_watt",
        "tok/s/W",
        "PowerLimit (W)",
        "net_power_w",
        "width_w",
        "MW",
        "Watt hours",
        "p95_power_w",
    ],
)
def test_what_is_not_a_power_is_not_taken_for_one(name: str) -> None:
    assert power_column(0, name) is None


@pytest.mark.parametrize(
    ("name", "scale"),
    [
        ("Joule(surface)", 1.0), ("TotalEnergy_kWh", 3.6e6), ("package-0_uj", 1e-6), ("Energy (mWh)", 3.6),
        ("codecarbon__energy_consumed", 3.6e6), ("joules_per_token", None), ("carbon_g_kwh", None), ("x_j", None),
        ("battery_wh", None),
    ],
)  # fmt: skip
def test_unit_of_an_energy_is_what_its_name_says(name: str, scale: float | None) -> None:
    column = energy_column(0, name)
    assert (column.scale if column else None) == scale


@pytest.mark.parametrize(
    ("names", "row"),
    [
        ("timestamp,gpu,power_w", "2026-01-02 03:04:05,0,312.5"),
        ("host,op,bytes,nranks", "n1,AllReduce,1024,8"),
    ],
)  # fmt: skip
def test_table_whose_names_show_no_steps_is_refused_from_its_head(names: str, row: str) -> None:
    """A table of power, and one of collectives, of 130 MB were read whole, the first one twice, before they were."""

    class Counting(io.BytesIO):
        taken = 0

        def read(self, size: int | None = -1, /) -> bytes:
            block = super().read(size)
            self.taken += len(block)
            return block

    content = f"{names}\n".encode() + 500_000 * f"{row}\n".encode()
    stream = Counting(content)
    lacking = generic_csv.read(Source("power.csv", stream, len(content), 0), Rows("f", lambda table, batch: None))
    assert lacking is not None
    assert "without a step" in lacking
    assert stream.taken < len(content) / 5


def test_quotation_mark_in_a_cell_joins_no_rows() -> None:
    rows = "".join(f'2026-01-02 03:04:0{k},{300 + k},a disk of 3" {k}\n' for k in range(5))
    power = read("timestamp,power_w,note\n" + rows, "power.csv")["power"]
    assert [row["power_w"] for row in power] == [300, 301, 302, 303, 304]
