"""Stable-Baselines3's progress.csv and progress.json: a row for each iteration, or for some episodes.

Tool: Stable-Baselines3 (CSVOutputFormat, JSONOutputFormat), sb3-contrib
Versions: 1 and 2
Yields: steps, metrics, params
Source: stable_baselines3/common/on_policy_algorithm.py and off_policy_algorithm.py, dump_logs();
    stable_baselines3/common/logger.py

What its times mean is said in parsing/environment_steps.py.  Its three writers print the same values: next to a
progress.csv of the same steps, progress.json and log.txt repeat it, and their rows do not count.

Samples:
    time/time_elapsed,time/fps,time/total_timesteps,time/iterations,rollout/ep_rew_mean,train/loss,train/learning_rate
    0,4307,2048,1,7.25,,
    1,2840,4096,2,9.75,3.5,0.0003
    {"time/time_elapsed": 1, "time/fps": 2840, "time/total_timesteps": 4096, "time/iterations": 2, "train/loss": 3.5}
"""

from scalelens.parsing.environment_steps import ITERATION, TOTAL, EnvironmentSteps
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.values import number
from scalelens.tabular.cells import csv_header, csv_records, jsonl_header, jsonl_records

VERSION = 1
IN_HEAD = (b"time/total_timesteps",)


def recognise(head: bytes, name: str) -> bool:
    return TOTAL in csv_header(head) or TOTAL in jsonl_header(head)


def read(source: Source, rows: Rows) -> None:
    steps = EnvironmentSteps(rows)
    records = jsonl_records if jsonl_header(source.text_head()) else csv_records
    for record in records(source):
        if record.damage:
            rows.problem(record.line, record.damage, record.text)
            continue
        values = {name: value for name, cell in record.cells.items() if (value := number(cell)) is not None}
        steps.add(record.line, values, has_iterations=ITERATION in record.cells)
    rows.param("framework", "stable-baselines3")
