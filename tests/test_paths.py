"""Facts in the names of files and folders."""

import pytest

from scalelens.runs.path_facts import facts_of


@pytest.mark.parametrize(
    ("path", "facts"),
    [
        ("logs/box.dgxb200x8.n4/llm/result_0.txt", {"nodes": "4", "devices_per_node": "8", "devices": "32"}),
        ("logs/n2/run_DP_N1C8_log", {"nodes": "1", "devices_per_node": "8", "devices": "8"}),
        ("logs/8gpu_weak.json", {"devices": "8"}),
        ("logs/gpux64_b208/train.log", {"devices": "64"}),
        ("logs/box_gpu_n2048_torch1.13/result_0.txt", {"devices": "2048"}),
        ("logs/16-nodes-cpu/result_0.txt", {"nodes": "16"}),
        ("logs/power/gpu0.csv", {}),
        ("logs/node_3.txt", {}),
    ],
)
def test_names_say_sizes(path: str, facts: dict[str, str]) -> None:
    assert facts_of(f"/home/n7/{path}", "/home/n7/logs") == facts
