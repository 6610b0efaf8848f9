"""Facts in the names of files and folders."""

import pytest

from scalelens.runs.path_facts import facts_of


@pytest.mark.parametrize(
    ("path", "facts"),
    [
        (
            "logs/box.dgxb200x8.n4/llm/result_0.txt",
            {"nodes": "4", "devices_per_node": "8", "devices": "32", "device_model": "B200"},
        ),
        ("logs/n2/run_DP_N1C8_log", {"nodes": "1", "devices_per_node": "8", "devices": "8"}),
        ("logs/resnet50/4n8g/b128_1.log", {"nodes": "4", "devices_per_node": "8", "devices": "32"}),
        ("logs/host_10n4gb/train.log", {}),  # a memory
        ("logs/train-DDP-nhost2-ngpu16-2023-05-15.log", {"nodes": "2", "devices": "16"}),
        ("logs/host2/ngpu0.log", {}),
        ("logs/8gpu_weak.json", {"devices": "8"}),
        ("logs/gpux64_b208/train.log", {"devices": "64"}),
        ("logs/box_gpu_n2048_torch1.13/result_0.txt", {"devices": "2048"}),
        ("logs/16-nodes-cpu/result_0.txt", {"nodes": "16"}),
        ("logs/power/gpu0.csv", {}),
        ("logs/node_3.txt", {}),
        ("logs/runA_n12/train.log", {}),  # of a model, a series or a number of layers
        ("logs/n2/8gpus.log", {"nodes": "2", "devices": "8"}),
        ("logs/nodes=32/train.log", {"nodes": "32"}),
        ("logs/nnodes=4-gpus_per_node=8/train.log", {"nodes": "4", "devices_per_node": "8", "devices": "32"}),
        ("logs/gpus=64/train.log", {"devices": "64"}),
        ("logs/n02/train.log", {"nodes": "2"}),
    ],
)
def test_names_say_sizes(path: str, facts: dict[str, str]) -> None:
    assert facts_of(f"/home/n7/{path}", "/home/n7/logs") == facts


@pytest.mark.parametrize(
    ("path", "devices", "facts"),
    [
        ("logs/n1024/train.log", "1024", {}),  # counts the devices, or nodes of one device each
        ("logs/n4/train.log", "2", {}),
        ("logs/n3/train.log", "8", {}),
        ("logs/n128/train.log", "1024", {"nodes": "128"}),
        ("logs/n1/train.log", "1", {"nodes": "1"}),
        ("logs/4nodes/train.log", "4", {"nodes": "4"}),
        ("logs/run_N4C1/train.log", "4", {"nodes": "4", "devices_per_node": "1", "devices": "4"}),
        ("logs/run_N2C8/train.log", "8", {}),
        ("logs/dgxh100x8/train.log", "4", {"device_model": "H100"}),
        ("logs/gpu_n8/train.log", "16", {"devices": "8"}),  # stands beside what the log says, which wins
    ],
)
def test_a_count_that_the_log_contradicts_does_not_stand(path: str, devices: str, facts: dict[str, str]) -> None:
    assert facts_of(f"/home/{path}", "/home/logs", devices) == facts


@pytest.mark.parametrize(
    ("path", "facts"),
    [
        ("logs/PyTorch/V100-LOG/job.log", {"device_model": "V100"}),
        ("logs/results/v100_16gb/ddp.json", {"device_model": "V100-16GB"}),
        ("logs/A100-SXM4-80GB/job.log", {"device_model": "A100-SXM4-80GB"}),
        ("logs/a100_sxm4_80gb/job.log", {"device_model": "A100-SXM4-80GB"}),
        ("logs/v100/on_a100_pcie.log", {"device_model": "A100-PCIE"}),
        ("logs/XE8545x4A100-SXM-40GB/result_0.txt", {"device_model": "A100-SXM-40GB"}),
        ("logs/dgxh100_ngc23.04/result_0.txt", {"device_model": "H100"}),
        ("logs/MI300X_EPYC/result_0.txt", {"device_model": "MI300X"}),
        ("logs/gh200-bf16/job.log", {"device_model": "GH200", "precision": "bf16"}),
        ("logs/rtx_4090/job.log", {"device_model": "RTX 4090"}),
        ("logs/rtx4090/job.log", {"device_model": "RTX 4090"}),
        ("logs/2xXE9685Lx8B200-SXM-180GB/result_0.txt", {"device_model": "B200-SXM-180GB"}),
        ("logs/gaudi2/job.log", {"device_model": "GAUDI 2"}),
        ("logs/tp2pp1dp8/job.log", {"tp": "2", "pp": "1", "dp": "8"}),
        ("logs/gpt_tp4_pp2.log", {"tp": "4", "pp": "2"}),
        ("logs/gpt-tp=8-seq2048.log", {"tp": "8", "seq_length": "2048"}),
        ("logs/seqlen_4096/job.log", {"seq_length": "4096"}),
        ("logs/seq_len-1000/job.log", {"seq_length": "1000"}),
        ("logs/static1050.log", {"device_clock_mhz": "1050"}),
        ("logs/freq1072/job.log", {"device_clock_mhz": "1072"}),
        ("logs/run_1200mhz.csv", {"device_clock_mhz": "1200"}),
        ("logs/gpu_clk_1410/job.log", {"device_clock_mhz": "1410"}),
        ("logs/gpu1200MHz/job.log", {"device_clock_mhz": "1200"}),
        ("logs/lumi/amp/bs256.log", {"precision": "amp"}),
        ("logs/amp_bf16.log", {"precision": "bf16"}),
        ("logs/tf32/fp8.log", {"precision": "fp8"}),
        ("logs/llama31_8b_fp4/result_0.txt", {"precision": "fp4"}),
        ("logs/no_nvfp4.log", {}),
        ("logs/nvfp4.log", {"precision": "nvfp4"}),
        ("logs/bfp4x/job.log", {}),
    ],
)
def test_names_say_settings(path: str, facts: dict[str, str]) -> None:
    assert facts_of(f"/home/h100/fp16/{path}", "/home/h100/fp16/logs") == facts


@pytest.mark.parametrize(
    "name",
    [
        "run_a1",
        "gpu_a1.csv",
        "2024-01-02_10h100m.log",
        "20240102.log",
        "va100x.log",
        "a1000_steps.log",
        "alpha100",
        "b200_lr3.log",  # batch size
        "bs256",
        "a100_vs_h100.log",
        "max_1550.log",
        "no_amp",
        "noamp",
        "amp_off",
        "fp16=false",
        "fp16_and_bf16.log",
        "example.log",
        "amplitude.csv",
        "step4.log",
        "pp512.log",
        "tp0",
        "http2.log",
        "seq_0003",
        "seq12",
        "seq2seq",
        "freq_500",
        "freq500",
        "save_freq750",
        "cpu_2400mhz",
        "mem_clk_1215",
        "static2024",
        "static1024",
        "lock1050",
        "5mhz",
    ],
)
def test_names_that_say_no_setting(name: str) -> None:
    assert facts_of(f"/home/logs/{name}", "/home/logs") == {}


def test_a_name_that_says_two_things_hides_the_names_above_it() -> None:
    assert facts_of("/home/logs/a100/v100_and_h100/job.log", "/home/logs") == {}
