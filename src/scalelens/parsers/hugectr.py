"""HugeCTR, NVIDIA's framework for recommender models.

Tool: NVIDIA-Merlin/HugeCTR, as MLPerf's DLRM submissions run it
Versions: 3 to 24
Yields: params, steps, metrics
Source: HugeCTR/src/pybind/model.cpp, Model::fit()

The time is that of all iterations since the record before, with the evaluations between the two.  What an evaluation
took is printed as well, and is taken off; it is a metric, because MLPerf's lines have the phase.  The global batch is
in a line of its own or in MLPerf's.  A loss is read where the line shows that its last digit is there: six decimals, or
the learning rate after it.

Samples:
    [HCTR][16:16:19.658][INFO][RK0][main]: Iter: 100 Time(100 iters): 0.583125s Loss: 0.13225 lr:0.004
    [31d03h59m06s][HUGECTR][INFO]: Iter: 1000 Time(1000 iters): 3.854500s Loss: 0.130875
    [HCTR][16:16:52.539][INFO][RK0][main]: Evaluation, AUC: 0.789875
    [HCTR][16:16:52.539][INFO][RK0][main]: Eval Time for 681 iters: 5.60250s
    [HCTR][16:16:19.072][INFO][RK0][main]: Training batchsize: 28000, evaluation batchsize: 131072
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = (" iters): ", "]: Eval Time for ", "]: Evaluation, AUC: ", "]: Training batchsize: ")

_RECORD = re.compile(
    r"\]: Iter: (\d{1,9}) Time\((\d{1,9}) iters\): (\d+(?:\.\d+)?(?:e-\d\d)?)s Loss: (?:(\d+\.\d{6})\b|(\d+(?:\.\d+)?) lr:)?"
)
_EVALUATION = re.compile(r"\]: Eval Time for \d+ iters: (\d+(?:\.\d+)?(?:e-\d\d)?)s")
_AUC = re.compile(r"\]: Evaluation, AUC: (0\.\d{3,}|1)\s*\Z")
_BATCH = re.compile(r"\]: Training batchsize: (\d{1,9}),")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.evaluated_s = 0.0  # since the last record

    def take(self, line: Line) -> bool:
        text = line.text
        if record := _RECORD.search(text):
            self.record(record, line)
        elif evaluation := _EVALUATION.search(text):
            self.evaluated_s += float(evaluation[1])
            self.metric("Eval Time", float(evaluation[1]), "s", line)
        elif auc := _AUC.search(text):
            self.metric("AUC", float(auc[1]), None, line)
        elif batch := _BATCH.search(text):
            self.rows.launched(line.rank)
            self.rows.param("global_batch_size", int(batch[1]), line.number)
            self.rows.param("framework", "hugectr", line.number, origin="inferred")
        elif "]: Iter: " in text or "]: Eval Time for " in text:
            self.rows.problem(line.number, "the record is cut, or something else was printed into it", text)
        else:
            return False
        return True

    def record(self, record: re.Match[str], line: Line) -> None:
        step, steps = int(record[1]), int(record[2])
        self.rows.attempt = self.rows.attempt_of(line.number, step, line.rank, line.location).attempt
        span_s, self.evaluated_s = float(record[3]) - self.evaluated_s, 0.0
        loss = record[4] or record[5]
        self.rows.put("steps", line.number, {
            "attempt": self.rows.attempt, "rank": line.rank, "place": line.location, "phase": "train", "step": step, "step_s": span_s / steps if steps and span_s > 0 else None,
            "averaged_steps": steps or None, "value_kind": "interval_mean" if steps > 1 else "instant",
            "samples": self.rows.params.get("global_batch_size"), "loss": float(loss) if loss else None,
        })  # fmt: skip

    def metric(self, name: str, value: float, unit: str | None, line: Line) -> None:
        self.rows.metrics(line.number, line.rank, line.location, self.rows.step, [(name, value, unit)])
