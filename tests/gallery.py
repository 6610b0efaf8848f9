"""The gallery: which logs each chart is drawn from, what its figure shows, and its pictures.

The logs that others published lie beside the project on some machines alone, so the pictures come with the source.  As
`plot` writes them they would take seven times the room: these have 144 pixels per inch and few colors.
"""

import hashlib
import io
import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import typer.testing
import vl_convert
from PIL import Image, PngImagePlugin

from command_line import app
from conftest import ROOT
from reference import PRINTED
from scalelens.charts import load as charts
from scalelens.report.provenance_in_files import provenance_of

PICTURES = ROOT / "docs" / "gallery"
VARIANTS = {
    "": "",
    "-dark": " --theme dark",
    "-double": " --width double",
    "-double-dark": " --width double --theme dark",
}
DRAWN_FROM = "scalelens-gallery"  # the text of a picture that says what it shows
_PPI = 108  # of vl-convert, for which 72 pixels of an SVG are an inch and a point is 4/3 of one: two pixels for a point
_COLORS = 128
_APART = 16  # of the 256 steps of red, green and blue: how far two colors of a picture lie apart at least
_CORPUS = "shared/corpus"


@dataclass(frozen=True)
class Logs:
    """Logs of some charts: the commands that make a warehouse of them, and where they come from, as Markdown."""

    warehouse: str
    origin: str
    folders: tuple[str, ...] = ()

    @property
    def commands(self) -> list[str]:
        if not self.folders:
            return ["python docs/studies/gallery.py made-up", "scalelens ingest made-up -w made-up-warehouse"]
        return [f"scalelens ingest {' '.join(f'{_CORPUS}/{folder}' for folder in self.folders)} -w {self.warehouse}"]


@dataclass(frozen=True)
class Figure:
    """A chart of the gallery: its logs, the parameters of its command, and what is to be seen in it."""

    logs: Logs
    shows: str
    parameters: str = ""

    def command(self, chart: str) -> str:
        words = [f"scalelens plot {chart}", *([self.parameters] if self.parameters else [])]
        return f"{' '.join(words)} -w {self.logs.warehouse} -o {chart}.png"


def _of(repository: str, about: str) -> str:
    return f"[{repository}](https://github.com/{repository}): {about}"


DDP = Logs(
    "ddp",
    _of("willgpaik/pytorch-ddp-scaling-benchmark", "ResNet-152 and a vision transformer on one to eight GPUs"),
    ("vision/willgpaik__pytorch-ddp-scaling-benchmark",),
)
FLORIDA = Logs(
    "florida",
    _of("mlcommons/training_results_v5.1", "MLPerf Training 5.1, University of Florida"),
    ("vision/mlcommons__training_results_v5.1/University-of-Florida",),
)
SYSTEMS = Logs(
    "systems",
    _of("mlcommons/training_results_v3.0", "MLPerf Training 3.0, vision, the first result file of each system"),
    ("vision/mlcommons__training_results_v3.0",),
)
RESULTS = Logs(
    "results",
    _of("mlcommons/training_results_v3.0", "MLPerf Training 3.0, all result files of Azure and Fujitsu"),
    ("mlperf_v3.0/Azure", "mlperf_v3.0/Fujitsu"),
)
PADDLE = Logs(
    "paddle",
    _of("PaddlePaddle/Perf", "ResNet50V1.5 of three frameworks on V100 and A100"),
    ("vision/PaddlePaddle__Perf",),
)
CLOCK = Logs(
    "clock",
    _of("stark-sim/megatron-deepspeed-lock-clock", "language models at locked clocks"),
    ("llm/stark-sim__megatron-deepspeed-lock-clock",),
)
BIGSCIENCE = Logs(
    "bigscience",
    _of("bigscience-workshop/bigscience", "language models on Jean Zay"),
    ("llm/bigscience-workshop__bigscience",),
)
ATTENTION = Logs(
    "attention",
    _of("elena-lyulina/Megatron-LM-Attention-Benchmark", "Megatron-LM with models of two shapes"),
    ("llm/elena-lyulina__Megatron-LM-Attention-Benchmark",),
)
LENS = Logs(
    "lens",
    _of("AMD-AGI/TraceLens", "its test traces of MI300 and of serving engines"),
    ("traces/AMD-AGI__TraceLens/tests/traces/mi300", "traces/AMD-AGI__TraceLens/tests/traces/inference"),
)
DEEPSEEK = Logs(
    "deepseek",
    _of("deepseek-ai/profile-data", "a part of the trace of a training with experts"),
    ("reach/traces/deepseek",),
)
HTA = Logs(
    "hta",
    _of("facebookresearch/HolisticTraceAnalysis", "its test traces"),
    ("traces/facebookresearch__HolisticTraceAnalysis",),
)
STRAGGLERS = Logs(
    "stragglers",
    _of("ByteDance-Seed/StragglerAnalysis", "its example traces"),
    ("traces/ByteDance-Seed__StragglerAnalysis",),
)
NCCL = Logs(
    "nccl",
    _of("xxrjun/nccl-tests-cluster", "nccl-tests on two nodes"),
    ("more/xxrjun__nccl-tests-cluster",),
)
POWER = Logs(
    "power",
    _of("mlcommons/training_results_v4.0", "MLPerf Training 4.0 with power"),
    ("power/mlcommons__training_results_v4.0",),
)
ZEUS = Logs("zeus", _of("ml-energy/zeus", "its measurements of power limits"), ("power/ml-energy__zeus",))
CPUS = Logs(
    "cpus",
    "traces of the unmodified Megatron-LM on two ranks of a small machine, made for this project",
    ("generated/kineto_cpu",),
)
MADE_UP = Logs("made-up-warehouse", "made up; no number in them was measured")

FIGURES = {
    "accuracy": Figure(RESULTS, "Ten runs of ResNet-50 learn alike per epoch. Azure's eight H100 end after 13.8 minutes, Fujitsu's ten A100 after 25.8.", "runs=\"model = 'resnet'\""),
    "batch_cdf": Figure(CLOCK, "The steps of `qwen7b_static_1200_500` all take 15 s; the median of the baseline is 18.2 s, and its steps spread from 16.4 to 19.3 s.", "runs=\"name LIKE 'qwen7b%'\""),
    "batch_device_grid": Figure(DDP, "At a batch of 128 each of eight devices keeps 95 % of what one does alone, and at a batch of 8 it keeps 17 %."),
    "batch_size_curve": Figure(DDP, "On eight devices, each trains 86 images/s with a batch of 8 and 480 with 128. Two sizes are too few to name a knee."),
    "blame": Figure(MADE_UP, "The jobs on one of 24 nodes were made slower. It is found: n0042, 5.5 % slower in 8 of 8 jobs."),
    "blame_jobs": Figure(CLOCK, "Nobody is accused. One of five jobs took 33 % less time than is usual for its settings, and no log says why."),
    "collective_arrivals": Figure(CPUS, "Rank 0 arrives last at 72 of 132 collectives and causes 57 % of the waiting.", "runs=traces_gpt_tp2"),
    "collective_benchmarks": Figure(NCCL, "Between two nodes of four GPUs each, `alltoall` reaches 23 GB/s and `sendrecv` 14.6 GB/s. Larger messages gain nothing."),
    "comparison": Figure(CLOCK, "`qwen7b_static_1200_500` takes 14.96 s a step, the baseline 18.20 s. The baseline drifts, so its bar is a range and not an interval.", "a=qwen7b_baseline_500 b=qwen7b_static_1200_500"),
    "contention": Figure(DEEPSEEK, "Of 131 ms of computing, 114 ms take place during communication."),
    "critical_path": Figure(HTA, "The first of six steps takes 157 ms and the others 115 to 123 ms. In the first two, the host decides 32 and 34 ms of it.", "runs=trace_diff"),
    "energy": Figure(CLOCK, "For 500 steps `qwen7b_static_1200_500` took 6.7 kWh, the baseline 10.4.", "runs=\"name LIKE 'qwen7b%'\""),
    "energy_by_batch": Figure(CLOCK, "From 8 to 32 devices, with a batch of one for each, a watt-hour trains 1,133 tokens and then 733 to 821.", "runs=\"name LIKE 'dual%'\""),
    "energy_by_limit": Figure(ZEUS, "Under a limit of 100 W, ResNet-50 on four A40 takes 21 % less energy than at 300 W, in 1 % more time. BERT on one V100 saves as much at 125 W, in 45 % more time."),
    "energy_of_trace": Figure(MADE_UP, "Computing takes 88 % of the energy of seven ranks, and waiting for communication 12 %. Rank 5, which is slower, hardly waits: it computes with 97 %."),
    "energy_scaling": Figure(CLOCK, "On 32 devices a sample takes 1.38 times as much energy as on 8, and training is 2.32 times as fast.", "runs=\"name LIKE 'dual%'\""),
    "epochs": Figure(RESULTS, "An epoch takes 23.0 s on Azure's eight H100 and 43.2 s on Fujitsu's ten A100. Runs of one system differ by less than 0.2 %.", "runs=\"model = 'resnet'\""),
    "expert_balance": Figure(MADE_UP, "If time follows the rank that receives most, the exchanges take 1.46 times as long as even ones."),
    "failures": Figure(BIGSCIENCE, "Of ten jobs whose end is known, none failed, and three reached their time limit. Three are few: the rate is between 67 and 953 in 1,000 node-hours."),
    "forecast": Figure(FLORIDA, "At 256 devices 84.7 % are left. Four sizes say little about eight times as many: at 2,048 devices the efficiency is between 31 and 100 %."),
    "history": Figure(RESULTS, "Five runs of ResNet-50 on Azure's H100 have medians between 57.31 and 57.32 ms, and those of the other three series keep their level, too.", "runs=\"model IN ('resnet', 'ssd')\""),
    "inference_phases": Figure(LENS, "The trace has one prefill, in which the device takes 15,558 tokens per second.", "runs=sglang_Qwen3-8B_prefilldecode"),
    "kernel_summary": Figure(LENS, "One kernel of communication takes 71.4 % of the time of the device.", "runs=resnet_act_checkpoint"),
    "kernel_tree": Figure(LENS, "The all-reduce of the gradients takes 47.0 % of the time of the device. Of another 24.3 % no operator is known.", "runs=resnet_act_checkpoint"),
    "memory_over_time": Figure(MADE_UP, "The peak is 21.7 GB. PyTorch's allocator has reserved 105 MB more at that moment."),
    "mfu": Figure(BIGSCIENCE, "The model grows with the machine: 18.4 billion parameters on 16 GPUs reach an MFU of 16.6 %, 207 billion on 256 reach 2.4 %.", "runs=\"framework = 'megatron-lm'\""),
    "op_summary": Figure(LENS, "Four of 81 operators take 57 % of the time on the host.", "runs=resnet_act_checkpoint"),
    "outlier_evidence": Figure(STRAGGLERS, "Rank 0 computes 2.35 times as long as its peers, in 43 of 43 steps.", "runs=trace-AR"),
    "power_over_time": Figure(POWER, "The node takes 2.1 kW before the training and up to 7.0 kW during its steps; each evaluation is a dip.", "runs=bert"),
    "published": Figure(PADDLE, "The document states 89 % as a lower bound. Six of the seven runs have 94.4 to 97.0 % on eight devices or 86.1 % on 32; one has 60.9 %.", "published_name=epicure/vision"),
    "roofline": Figure(LENS, "The largest convolutions reach 50 TFLOP/s, and the roof is at 1,307. Normalization is bound by memory.", "runs=resnet_act_checkpoint"),
    "run_matrix": Figure(SYSTEMS, "Dell has runs on 8 to 64 A100 of 40 GB at every doubling, NVIDIA on 8, 64 and 512 H100."),
    "scaling": Figure(FLORIDA, "At half a sequence per device, 256 devices keep 84.7 % of the efficiency of 32. At one global batch of 16, 32 devices keep 72.5 % of that of 8.", "runs=\"model = 'llama31_8b'\""),
    "scaling_fit": Figure(DDP, "Gustafson's law misses weak scaling by 1.3 % at most. Amdahl's law misses strong scaling by up to 10.8 %: neither fits there."),
    "scaling_rates": Figure(SYSTEMS, "On 64 devices an H100 trains 4,605 images/s and an A100 2,752, although the A100s have the higher efficiency."),
    "scaling_times": Figure(SYSTEMS, "From 8 to 64 devices at one batch per device, the median step keeps 97.2 % and the epoch 79.9 %.", "runs=\"system = 'XE8545'\""),
    "step_heatmap": Figure(HTA, "The first of the six steps computes 119 ms, the median one 85.8 ms. Several ranks would be rows of a map.", "runs=trace_diff"),
    "step_timeline": Figure(DEEPSEEK, "Communication has a stream of its own, beside two that compute, and fills most of the step."),
    "step_times": Figure(CLOCK, "The step time drifts between 16 and 19 s. Without a steady state, the chart draws no median.", "runs=qwen7b_baseline_500"),
    "temporal_breakdown": Figure(LENS, "The device computes for 30 % of the span and waits for communication for 64 %.", "runs=resnet_act_checkpoint"),
    "throughput": Figure(DDP, "With a batch of 128, one device trains 503 images/s, and each of eight 480.", "runs=\"model = 'resnet152'\""),
    "time_to_train": Figure(SYSTEMS, "From 8 to 64 A100 Dell's time falls from 33.5 to 5.5 minutes. NVIDIA's 512 H100 take 32 seconds.", "runs=\"model = 'resnet' AND system IN ('XE8545', 'NVIDIA DGX H100')\""),
    "waterfall": Figure(SYSTEMS, "Usual steps take 94.1 % of the job, and five slow records 2.2 %. For 3.2 % the log has no explanation.", 'runs="resnet fp16 XE8545 A100-SXM-40GB 4 nodes"'),
}  # fmt: skip
# What a chart needs that the demo's logs do not have.
NEEDS = {
    "blame": "jobs of one configuration on several nodes, with the names of their hosts",
    "blame_jobs": "jobs of one configuration on several nodes, with the names of their hosts and the time of their start",
    "contention": "traces of GPUs, one per rank, with communication beside computing",
    "collective_benchmarks": "the output of nccl-tests, rccl-tests or all_reduce_bench.py",
    "critical_path": "traces of GPUs, one per rank, with the launches of their kernels",
    "energy": "measurements of energy",
    "energy_by_batch": "logs of runs with several batch sizes, and their power or energy",
    "energy_by_limit": "Zeus's measurements of its power limits",
    "energy_of_trace": "a trace of a GPU, and its power in that time",
    "energy_scaling": "logs of runs on several numbers of devices, and their power or energy",
    "expert_balance": "traces of all-to-alls with their sizes, as PyTorch records them",
    "failures": "jobs that failed",
    "forecast": "a series of four sizes or more",
    "history": "two runs or more of one configuration",
    "inference_phases": "a trace of a serving engine (vLLM, SGLang, TensorRT-LLM) on a GPU",
    "kernel_summary": "a trace of a GPU",
    "kernel_tree": "a trace of a GPU",
    "memory_over_time": "a snapshot of PyTorch's memory with its history",
    "outlier_evidence": "the compute times of each rank",
    "power_over_time": "a power log beside the log of a run",
    "published": "runs on as many devices as those of a published table",
    "roofline": "a trace of a GPU with the shapes of the operators (`record_shapes=True`)",
    "scaling_fit": "a series of four sizes or more",
    "step_heatmap": "traces of GPUs, one per rank, with the steps of the profiler",
    "step_timeline": "traces of GPUs, one per rank",
    "temporal_breakdown": "a trace of a GPU",
    "time_to_train": "logs of MLPerf, or others that state how long the training took, on several numbers of devices",
}
_MADE_UP_CHARTS = [f"`{name}`" for name, figure in FIGURES.items() if figure.logs is MADE_UP]

PAGE = f"""# Gallery

{PRINTED.replace("test_docs", "test_gallery")}Every chart, with the commands that draw it. All but a few are drawn from logs, traces and power logs that others
published. [Which figure](figures.md) helps to choose. The [figures of the studies](#figures-of-studies) are at the end.

Each chart is shown at the width of one column, as its command draws it, and below at the width of two
(`--width double`). If this site is dark, the pictures are those of `--theme dark`.

The logs are not part of ScaleLens. To run the commands, put a copy of the files into `shared/corpus`, as the commands
name it; a copy of the whole repository may show more runs. The commands ran on these files as they are, without a
sidecar. These charts need what no log among them has: {", ".join(_MADE_UP_CHARTS[:-1])}
and {_MADE_UP_CHARTS[-1]}. They are drawn from logs that the script docs/studies/gallery.py of the source makes up.

"""
FIGURES_OF_STUDIES = """## Figures of studies

Figures of documents, and of logs that others published. The page of each study has the command of each figure, says
whether its logs are real or stand-ins, and what the document states.

"""


def page() -> str:
    """The page: of each chart its sentences, its commands, its pictures and its logs."""
    sections = [section(name, figure) for name, figure in FIGURES.items()]
    return "".join([PAGE, *sections, FIGURES_OF_STUDIES, *figures_of_studies()])


def section(name: str, figure: Figure) -> str:
    """What the page has of a chart."""
    chart = charts.load()[name]
    shows = re.search(r"^Shows: (.+?)^Query:", chart.__doc__ or "", re.DOTALL | re.MULTILINE)
    assert shows
    title = charts.title(chart)
    text = f"## {name}\n\n{title}. Shows {' '.join(shows[1].split())}\n\n"
    text += "\n".join(["```", *figure.logs.commands, figure.command(name), "```"]) + "\n\n"
    for width, words in (("", ""), ("-double", ", two columns wide")):
        text += f"![{title}{words}](gallery/{name}{width}.png#only-light)\n"
        text += f"![{title}{words}, dark](gallery/{name}{width}-dark.png#only-dark)\n\n"
    needs = f" The chart needs {NEEDS[name]}." if name in NEEDS else ""
    return text + f"{figure.shows}\n\nLogs: {figure.logs.origin}.{needs}\n\n"


def figures_of_studies() -> list[str]:
    """The pictures of each study, below its title."""
    found = []
    for path in sorted((ROOT / "docs" / "studies").glob("*.md")):
        text = path.read_text()
        pictures = re.findall(r"^!\[(.+)\]\((.+\.png)\)$", text, re.MULTILINE)
        title = text.partition("\n")[0].removeprefix("# ")
        drawn = "".join(f"![{caption}](studies/{picture})\n\n" for caption, picture in pictures)
        found.append(f"### [{title}](studies/{path.name})\n\n{drawn}" if pictures else "")
    return found


def run(command: str) -> None:
    """Runs a command of the page that calls ScaleLens, in the working folder."""
    result = typer.testing.CliRunner().invoke(app, shlex.split(command)[1:])
    assert result.exit_code == 0, f"{command}\n{result.output}\n{result.exception}"


def drawn(command: str, variant: str, folder: Path) -> tuple[str, dict[str, str]]:
    """What the command draws, as SVG, with what a picture of it says of itself."""
    run(command.replace(".png", f"{variant}.svg") + VARIANTS[variant])
    path = folder / f"{shlex.split(command)[-1].removesuffix('.png')}{variant}.svg"
    svg = re.sub(r"<metadata>.*?</metadata>", "", path.read_text(), flags=re.DOTALL)
    provenance = provenance_of(path)
    about = {"renderer": provenance["renderer"], "rows_sha256": provenance["rows_sha256"]}
    return svg, {**about, "drawing_sha256": hashlib.sha256(svg.encode()).hexdigest()}


def picture(svg: str, about: dict[str, str]) -> bytes:
    """A PNG of few colors, which takes a quarter of one of all colors."""
    pixels = np.asarray(Image.open(io.BytesIO(vl_convert.svg_to_png(svg, ppi=_PPI))).convert("RGB")).astype(int)
    numbers, places, counts = np.unique(pixels @ [1 << 16, 1 << 8, 1], return_inverse=True, return_counts=True)
    colors = numbers[:, None] >> [16, 8, 0] & 255
    palette = _frequent(colors, counts)
    nearest = ((colors[:, None] - palette) ** 2).sum(axis=2).argmin(axis=1).astype(np.uint8)
    image = Image.fromarray(nearest[places.reshape(pixels.shape[:2])], "P")
    image.putpalette(palette.astype(np.uint8).tobytes())
    said, content = PngImagePlugin.PngInfo(), io.BytesIO()
    said.add_text(DRAWN_FROM, json.dumps(about, sort_keys=True))
    image.save(content, "png", optimize=True, pnginfo=said)
    return content.getvalue()


def _frequent(colors: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The most frequent of the colors that lie apart from each other: those of all marks, whose edges are mixtures."""
    colors, chosen = colors[np.argsort(-counts, kind="stable")], []
    left = colors
    while len(left) and len(chosen) < _COLORS:
        chosen.append(left[0])
        left = left[((left - left[0]) ** 2).sum(axis=1) >= _APART**2]
    return np.array(chosen)


def said_of(path: Path) -> dict[str, str]:
    """What a picture of the gallery says of itself."""
    with Image.open(path) as image:
        said: dict[str, str] = json.loads(image.info[DRAWN_FROM])
        return said
