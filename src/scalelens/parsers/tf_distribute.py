"""The devices of a training that TensorFlow mirrors on several of them.

Tool: TensorFlow, tf.distribute.MirroredStrategy and MultiWorkerMirroredStrategy
Versions: 1.11 to 2.16
Yields: params
Source: tensorflow/python/distribute/mirrored_strategy.py, collective_all_reduce_strategy.py

The devices of a worker are those of its tuple; every worker has as many, which is what the strategy requires.  A worker
also prints the line of MirroredStrategy, about itself alone, which is not used.  Nor are tuples of processors: a job
without accelerators has none to count.

Samples:
    INFO:tensorflow:Using MirroredStrategy with devices ('/job:localhost/replica:0/task:0/device:GPU:0', '/job:localhost/replica:0/task:0/device:GPU:1')
    INFO:tensorflow:Using MirroredStrategy with devices ('/gpu:0', '/gpu:1')
    INFO:tensorflow:Single-worker MultiWorkerMirroredStrategy with local_devices = ('/device:GPU:0',), communication = CommunicationImplementation.NCCL
    INFO:tensorflow:MultiWorkerMirroredStrategy with cluster_spec = {'worker': ['n1:2222', 'n2:2222']}, task_type = 'worker', task_id = 0, num_workers = 2, local_devices = ('/job:worker/task:0/device:GPU:0',), communication = CommunicationImplementation.AUTO
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = (
    "MirroredStrategy with devices (", "MirroredStrategy with local_devices = (", "MirroredStrategy with cluster_spec = ",
)  # fmt: skip

_ONE_WORKER = re.compile(r"(?:Using MirroredStrategy with devices|MirroredStrategy with local_devices =) \(([^()]*)\)")
_WORKERS = re.compile(
    r"MultiWorkerMirroredStrategy with cluster_spec = .*, num_workers = (\d{1,6}), local_devices = \(([^()]*)\)"
)
_DEVICE = re.compile(r"'((?:/[a-z]+:\w+)*)/(?:device:)?(GPU|gpu|TPU):(\d{1,4})'(?:, |,?\Z)")
_OF_A_WORKER = re.compile(r"/job:(?!localhost\b)")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def take(self, line: Line) -> bool:
        if found := _WORKERS.search(line.text):
            workers, devices = int(found[1]), found[2]
        elif found := _ONE_WORKER.search(line.text):
            workers, devices = 0 if _OF_A_WORKER.search(found[1]) else 1, found[1]
        else:
            return False
        count = workers * len({device[0] for device in _DEVICE.finditer(devices)})
        self.rows.param("devices", count or None, line.number)
        return True
