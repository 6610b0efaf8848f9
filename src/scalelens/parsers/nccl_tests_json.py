"""Results of nccl-tests as JSON.

Tool: nccl-tests -J FILE (all_reduce_perf, alltoall_perf, ...)
Versions: 2.17.3 to 2.20 (version 3 and 4 of the file); no real file was at hand: by the writer's source
Yields: collective_benchmarks, params
Source: NVIDIA/nccl-tests, src/util.cu: jsonOutputInit(), writeBenchmarkLineBody(), writeDeviceReport()

The columns are those of nccl_tests, which reads the same test as text.  A line is the number of the result.  The test is
the name of the program.  The file holds the whole environment of the job, which is not kept.  Each process names the
first of its devices, so that their number is that times threads and GPUs of a process.  A test that was killed leaves a
file without an end: what is whole is kept.  The times of single iterations (`-I 1`) are not kept.

Samples:
    {"version":3,"start_time":"2026-01-02 03:04:05","args":["./all_reduce_perf","-J","r.json"],"env":[],"nccl_version":22903,
    "config":{"nthreads":1,"ngpus":1,"devices":[]},"results":[{"size":1024,"count":256,"type":"float","redop":"sum","root":"    -1",
    "out_of_place":{"time":11.5,"alg_bw":0.09,"bus_bw":0.16,"nwrong":0},"in_place":{"time":11.2,"alg_bw":0.09,"bus_bw":0.16,"nwrong":0}}]}
"""

import json
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.values import amount, integer, json_count

VERSION = 1
IN_HEAD = (b'_perf"',)

_BEGIN = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"version"\s*:\s*\d+\s*,\s*"start_time"\s*:')
_RESULTS = re.compile(r'"results"\s*:\s*\[\s*')
_BETWEEN = re.compile(r"[\s,]+")
_PROGRAM = re.compile(r"(?:.*[/\\])?(\w+)_perf")
_SIDES = (("out", "out_of_place"), ("in", "in_place"))


def recognise(head: bytes, name: str) -> bool:
    return bool(_BEGIN.match(head)) and b'"args"' in head and b'_perf"' in head


def read(source: Source, rows: Rows) -> None:
    text = source.text().decode("utf-8", "replace").removeprefix("\ufeff")
    try:
        report = json.loads(text)
    except (ValueError, RecursionError):
        report = _without_end(text)
    config = report.get("config")
    program = _PROGRAM.fullmatch(str(next(iter(_list_of(report, "args")), "")))
    rows.param("framework", "nccl-tests", origin="inferred")
    rows.param("nccl_version", _version_of(json_count(report.get("nccl_version"))), origin="nccl")
    if isinstance(config, dict):
        _devices(config, rows)
    results = _list_of(report, "results")
    for number, result in enumerate(results, 1):
        _of_size(number, result, program[1] if program else None, rows)
    wrong = report.get("out_of_bounds")
    failed = any(_list_of(report, "errors")) or (isinstance(wrong, dict) and wrong.get("okay") in ("false", False))
    if failed or "end_time" in report:
        rows.param("outcome", "error" if failed else "completed", origin="inferred")
    else:
        rows.problem(None, "the results have no end: the test was killed, or the file is cut")


def _without_end(text: str) -> dict[str, Any]:
    """What is whole of a file that is cut: all before the results, and results."""
    decoder, results = json.JSONDecoder(), []
    start = _RESULTS.search(text)
    end = start.end() if start else 0
    while start and text[end : end + 1] == "{":
        try:
            result, end = decoder.raw_decode(text, end)
        except (ValueError, RecursionError):
            break
        results.append(result)
        end = between.end() if (between := _BETWEEN.match(text, end)) else end
    try:
        before = json.loads(text[: start.start()].rstrip(", \n") + "}") if start else {}
    except (ValueError, RecursionError):
        before = {}
    return {**before, "results": results}


def _list_of(report: dict[str, Any], key: str) -> list[Any]:
    return found if isinstance(found := report.get(key), list) else []


def _version_of(code: int | None) -> str | None:
    """22903 is 2.29.3, and 2.29.3 is what others print."""
    return f"{code // 10_000}.{code // 100 % 100}.{code % 100}" if code and 20_900 <= code < 100_000 else None


def _devices(config: dict[str, Any], rows: Rows) -> None:
    """How many devices took part, on which hosts."""
    named = [device for device in _list_of(config, "devices") if isinstance(device, dict)]
    each = [json_count(config.get(name), 16) for name in ("nthreads", "ngpus")]
    if not named or not all(each):
        return
    rows.param("devices", len(named) * (each[0] or 1) * (each[1] or 1), origin="nccl")
    rows.param("nodes", len({str(device.get("hostname")) for device in named}), origin="nccl")
    models = dict.fromkeys(str(device["device_info"]) for device in named if device.get("device_info"))
    rows.param("device_model", ", ".join(models) or None, origin="nccl")


def _of_size(number: int, result: Any, test: str | None, rows: Rows) -> None:
    """The two sides of one size."""
    size = json_count(result.get("size")) if isinstance(result, dict) else None
    if size is None:
        rows.problem(number, "the result has no size", str(result)[:200])
        return
    redop = result.get("redop")
    message: dict[str, Any] = {
        "test": test,
        "dtype": _text_of(result.get("type")),
        "redop": None if redop == "none" else _text_of(redop),
    }
    message |= {"message_bytes": size, "count": json_count(result.get("count"))}
    message |= {"root": integer(str(result.get("root")).strip())}
    for place, key in _SIDES:
        side = result.get(key)
        if not isinstance(side, dict):
            continue
        time_us, algbw, busbw = (
            amount(side.get("time", side.get("cpu_time"))),
            amount(side.get("alg_bw")),
            amount(side.get("bus_bw")),
        )
        if time_us is None:
            rows.problem(number, "the time is not a number", str(side)[:200])
            continue
        wrong = amount(side.get("nwrong"))
        rows.add(
            "collective_benchmarks", number, **message, place=place, time_s=time_us / 1e6,
            algbw_bytes_per_s=None if algbw is None else algbw * 1e9,
            busbw_bytes_per_s=None if busbw is None else busbw * 1e9, wrong=None if wrong is None else int(wrong),
        )  # fmt: skip


def _text_of(value: Any) -> str | None:
    return value if isinstance(value, str) else None
