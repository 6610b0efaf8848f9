"""A JUBE benchmark's folder: each workpackage is one run, with its logs, its parameters, and what was made of them."""

from pathlib import Path

import pytest

import scalelens
from asking import answer
from conftest import FIXTURES
from scalelens.ingestion.ingest import ingest
from scalelens.ingestion.recognize import stand_in
from scalelens.ingestion.walk import walk
from scalelens.parsing.launcher_prefixes import pieces, without_prefix

STEP = (
    "step {step} of epoch 0, loss: 10.9, acc: 2.0e-05, lr: 7.5e-05, throughput: {rate} samples/sec, step_time: {time}\n"
)


def package(id: int, step: str, parent: str = "", **parameters: object) -> str:
    values = "".join(
        f'<parameter name="{name}"><value>a,b</value><selection>{value}</selection></parameter>'
        for name, value in parameters.items()
    )
    return (
        f'<workpackage id="{id}"><step iteration="0" cycle="0">{step}</step><parameterset>{values}</parameterset>'
        f"<parents>{parent}</parents></workpackage>\n"
    )


def analysed(id: int, time: float) -> str:
    names = {"_avg": time, "_cnt": 4, "_last": time, "": time}
    return (
        f'<workpackage id="{id}">'
        + "".join(f'<pattern name="step_time{name}" type="float">{value}</pattern>' for name, value in names.items())
        + "</workpackage>"
    )


@pytest.fixture
def benchmark(tmp_path: Path) -> Path:
    """One compilation, two trainings on 4 and 8 devices, and for each training its energy; two result tables."""
    folder = tmp_path / "runs" / "000000"
    (folder / "result").mkdir(parents=True)
    packages = package(0, "compile", compiler="gcc")
    table = "JobID,System,Devices,GlobalBatchSize,Time/iteration(s)\n"
    pretty = "| System | Devices | GlobalBatchSize | Time/iteration(s) |\n|---|---|---|---|\n"
    analysis = ""
    for id, devices in ((1, 4), (2, 8)):
        packages += package(id, "train", "0", total_devices=devices, global_batch_size=64, system_name="M1")
        packages += package(id + 2, "energy", str(id))
        analysis += analysed(id, 8 / devices)
        table += f"471{devices},M1,{devices},64,{8 / devices}\n"
        pretty += f"| M1 | {devices} | 64 | {8 / devices} |\n"
        work, energy = folder / f"00000{id}_train" / "work", folder / f"00000{id + 2}_energy" / "work"
        (work / "logs").mkdir(parents=True)
        energy.mkdir(parents=True)
        (energy / "train").symlink_to(work)
        times = (40.0, 8 / devices, 8 / devices, 8 / devices, 8 / devices, 8 / devices)
        (work / "logs" / "train.err").write_text(
            "".join(STEP.format(step=k, rate=64 / time, time=time) for k, time in enumerate(times))
        )
        (work / "job.out").write_text(f"Submitted batch job 471{devices}\n")
        (energy / "combined_energy.csv").write_text(f",nodename,rank,gc:0\n0,node{id},0,0.5{id}\n")
    (folder / "workpackages.xml").write_text(f"<workpackages>\n{packages}</workpackages>\n")
    (folder / "analyse.xml").write_text(
        f'<analyse><analyser name="a"><step name="train">{analysis}</step></analyser></analyse>\n'
    )
    (folder / "result" / "result.dat").write_text(table)
    (folder / "result" / "pretty.dat").write_text(pretty)
    return folder


def test_each_workpackage_is_one_run_with_all_that_is_said_of_it(benchmark: Path, tmp_path: Path) -> None:
    ingest([benchmark], tmp_path / "w", jobs=1)
    connection = scalelens.connect(tmp_path / "w")
    runs = connection.execute(
        "SELECT name, devices, global_batch_size, system, job_id FROM runs WHERE devices IS NOT NULL ORDER BY devices"
    ).fetchall()
    assert runs == [("000001_train", 4, 64, "M1", "4714"), ("000002_train", 8, 64, "M1", "4718")]
    files = connection.execute(
        "SELECT r.devices, list(DISTINCT regexp_extract(f.path, '[^/]*$')) FROM members m "
        "JOIN runs r USING (run_id) JOIN files f USING (file_id) WHERE devices IS NOT NULL GROUP BY 1 ORDER BY 1"
    ).fetchall()
    assert [(devices, sorted(names)) for devices, names in files] == [
        (n, sorted(["analyse.xml", "combined_energy.csv", "job.out", "pretty.dat", "result.dat", "train.err", "workpackages.xml"]))
        for n in (4, 8)
    ]  # fmt: skip
    compiled = connection.execute("SELECT list(DISTINCT value) FROM params WHERE key = 'jube.compiler'").fetchone()
    assert compiled == (["gcc"],)


def test_the_steps_of_the_log_count_and_not_what_was_made_of_them(benchmark: Path, tmp_path: Path) -> None:
    ingest([benchmark], tmp_path / "w", jobs=1)
    rows = scalelens.query("scaling", tmp_path / "w").sort("devices")
    assert rows["step_s"].to_list() == [2.0, 1.0]
    assert set(rows["scaling"]) == {"throughput"}  # no log names a model
    rules = answer(tmp_path / "w", "SELECT rule, count(*) FROM exclusions() GROUP BY 1 ORDER BY 1")
    assert dict(rules.fetchall()) == {"first_of_epoch": 2, "logged_warmup": 2, "summary": 6, "warmup": 2}


def test_without_logs_the_analysis_counts_once(benchmark: Path, tmp_path: Path) -> None:
    for log in benchmark.rglob("train.err"):
        log.unlink()
    ingest([benchmark], tmp_path / "w", jobs=1)
    rows = scalelens.query("selected_steps", tmp_path / "w").sort("step_s")
    kept = rows.filter(rows["excluded_by"].is_null())
    assert kept["step_s"].to_list() == [1.0, 2.0]
    assert kept["averaged_steps"].to_list() == [4, 4]


def test_a_result_table_alone_gives_its_rows_as_runs(tmp_path: Path) -> None:
    table = FIXTURES / "jube_result" / "resnet_pretty.dat"
    ingest([table], tmp_path / "w", jobs=1)
    rows = scalelens.query("scaling", tmp_path / "w").sort("devices")
    assert rows["devices"].to_list() == [2, 4]
    assert rows["samples_per_s"].to_list() == pytest.approx([2650.25, 5210.75])


def test_links_to_another_step_are_followed_once_and_loops_end(benchmark: Path, tmp_path: Path) -> None:
    energy, train = benchmark / "000003_energy", benchmark / "000001_train"
    (train / "work" / "back").symlink_to(energy / "work")
    alone = [Path(file.path).name for file in walk([energy], [])]
    assert sorted(alone) == ["combined_energy.csv", "job.out", "train.err"]
    whole = [file.path for file in walk([benchmark], [])]
    assert len(whole) == len(set(whole)) == 10


def test_links_to_other_folders_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "image.txt").write_text("x")
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "data").symlink_to(tmp_path / "data")
    assert list(walk([tmp_path / "logs"], [])) == []


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1142616064\n", "1,142,616,064 bytes"),
        (b'{\n  "schema": "1.0.1", "pid": 7, "time": "x", "start_ts": 1,\n  "nodes": [\n', "an execution trace"),
        (b'{"schemaVersion": 1, "nodes": []}', None),
        (b"../../000000_train/work", "to ../../000000_train/work"),
        (b"version https://git-lfs.github.com/spec/v1\nand what else\n", None),
        (b"..", None),
        (b"../../a b", None),
    ],
)
def test_files_that_stand_for_others_say_so(text: bytes, note: str | None) -> None:
    said = stand_in(text)
    assert said is None if note is None else said is not None and note in said


@pytest.mark.parametrize("name", ["Tue_Nov_24_2026_4532.pvti", "profile.pop", "debug.cbor"])
def test_reports_that_need_the_sdk_are_refused_with_the_way_out(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"\x00\x01\x02\x03" * 100)
    ingest([tmp_path / name], tmp_path / "w", jobs=1)
    (reason,) = answer(tmp_path / "w", "SELECT reason FROM problems").fetchone()
    assert "needs Graphcore's SDK: docs/popvision.md" in reason


@pytest.mark.parametrize(
    ("name", "member", "is_understood"),
    [("libfoo.a", b"foo.o/", False), ("copy.bin", b"tile12.elf/", True), ("archive.a", b"foo.o/", True)],
)
def test_an_archive_is_of_an_ipu_by_its_tiles_or_its_name(
    name: str, member: bytes, is_understood: bool, tmp_path: Path
) -> None:
    """A library is an archive, too: it was a run of its own."""
    header = member.ljust(16) + b"1700000000  0     0     100644  4         `\n"
    (tmp_path / name).write_bytes(b"!<arch>\n" + header + b"\x7fELF")
    ingest([tmp_path / name], tmp_path / "w", jobs=1)
    formats, n_runs = answer(tmp_path / "w", "SELECT formats, (SELECT count(*) FROM runs) FROM files").fetchone()
    assert (formats == ["popvision"], n_runs == 1) == (is_understood, is_understood)


QUOTED = (
    rb'{"stderr": "[1,0]<stderr>:a\n[1,1]<stderr>:b"}'  # a document that quotes a log, whose ends of lines it escapes
)


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        (b"75/78 [02:42<00:06][1,0]<stderr>:", [b"75/78 [02:42<00:06]", b"[1,0]<stderr>:"]),
        (b"Loss:6.7 [1,0]<stdout>:[INFO] Epoch 1", [b"Loss:6.7 ", b"[1,0]<stdout>:[INFO] Epoch 1"]),
        (b"[1,3]<stdout>:a[1,2]<stderr>:b", [b"[1,3]<stdout>:a", b"[1,2]<stderr>:b"]),
        (b"[1,3]<stdout>:a", [b"[1,3]<stdout>:a"]),
        (b"Fri Nov 20 10:11:12 2026[1,3]<stdout>:a", [b"Fri Nov 20 10:11:12 2026[1,3]<stdout>:a"]),
        (b"2: [1,3]<stdout>:a", [b"2: [1,3]<stdout>:a"]),
        (QUOTED, [QUOTED]),
    ],
)
def test_prefixes_of_mpirun_divide_a_line(line: bytes, parts: list[bytes]) -> None:
    assert pieces(line) == parts


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("0: [default0]:  seq_length .... 2048", "  seq_length .... 2048"),
        ("0: ult0]:  seq_length .... 2048", "  seq_length .... 2048"),
        ("12: ]:  seq_length .... 2048", "  seq_length .... 2048"),
        ("0: 0]:  seq_length .... 2048", "  seq_length .... 2048"),
        ("ult0]:  seq_length .... 2048", "ult0]:  seq_length .... 2048"),  # without the label of srun, nobody cut it
        ("0: x[0]: 2048", "x[0]: 2048"),
    ],
)
def test_the_end_of_a_prefix_that_srun_cut_is_no_part_of_the_line(line: str, text: str) -> None:
    assert without_prefix(line)[0] == text


def test_an_argument_behind_a_prefix_that_srun_cut_is_an_argument(tmp_path: Path) -> None:
    text = (
        "0: [default0]:------------------------ arguments ------------------------\n"
        "0: [default0]:  num_layers ...................................... 16\n0: [defa\n"
        "0: ult0]:  seq_length ...................................... 8192\n"
        "1: ult0]:  hidden_size ..................................... 1\n"
        "0: [default0]:  micro_batch_size ................................ 4\n"
        "0: [default0]:-------------------- end of arguments ---------------------\n"
    )
    (tmp_path / "1.out").write_text(text)
    ingest([tmp_path / "1.out"], tmp_path / "w", jobs=1)
    rows = answer(tmp_path / "w", "SELECT key, value FROM params WHERE line BETWEEN 2 AND 6 ORDER BY line").fetchall()
    assert rows == [("num_layers", "16"), ("seq_length", "8192"), ("micro_batch_size", "4")]
