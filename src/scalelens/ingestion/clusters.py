"""Works on the workers of a Dask cluster: one that runs already, one in Slurm jobs, or one on this machine.

Files are read there in batches, and large warehouses are queried there some runs at a time.  A worker commits what it
reads, as a local process does.  A batch whose worker was lost is read by another one: what was committed is seen as a
duplicate, what was not is read again.
"""

import contextlib
import functools
import logging
import secrets
import shlex
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from scalelens.errors import UserError
from scalelens.ingestion.batch import Contents, IngestOptions, Progress, known_contents, read_batch
from scalelens.ingestion.formats import Formats, load
from scalelens.ingestion.processes import undisturbed
from scalelens.ingestion.walk import WalkedFile
from scalelens.warehouse.log import Warehouse
from scalelens.warehouse.records import Entry

_Part = TypeVar("_Part")
_Result = TypeVar("_Result")

_RETRIES = 3  # of a part of the work that failed, perhaps because of its node
CONNECT_S = 30
# Workers that are copies of one prepared process start sooner; `fork` would copy the threads of this one.  Dask makes
# them give back each freed block of memory at once, and checks on them fifty times a second: each costs a tenth of
# their time.
_LOCAL_WORKERS = {
    "distributed.worker.multiprocessing-method": "forkserver",
    "distributed.nanny.pre-spawn-environ": {"OMP_NUM_THREADS": 1, "OPENBLAS_NUM_THREADS": 1},
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
}
_SLURM_DEFAULTS = {"cores": 4, "processes": 4, "memory": "8GB"}  # of a job, where Dask's own settings name none


def on_dask(
    batches: list[list[WalkedFile]], options: IngestOptions, where: str, workers: int, progress: Progress
) -> Iterator[list[Entry]]:
    """Entries of each batch, in the order in which the batches end; the arguments are those of `on_cluster`."""
    options = options._replace(warehouse=options.warehouse.resolve())
    read = functools.partial(_read_on_worker, options=options, ingest=secrets.token_hex(8))
    for number, entries in on_cluster(where, workers, read, batches):
        progress(sum(file.size_bytes for file in batches[number]))
        yield entries


def on_cluster(
    where: str, workers: int, work: Callable[[_Part], _Result], parts: list[_Part]
) -> Iterator[tuple[int, _Result]]:
    """The result of each part of the work with the part's number, in the order in which they end.

    `where` is the address of a scheduler, `slurm` or `local`; `workers` are started for the last two.
    Raises UserError where there is no such cluster, or one that cannot work.
    """
    try:
        import distributed
    except ImportError:
        raise UserError("Dask is not installed here", "pip install 'scalelens[dask]'") from None
    with _cluster_at(where, workers) as cluster:
        try:
            with distributed.Client(cluster, timeout=CONNECT_S) as client:
                futures = client.map(work, parts, retries=_RETRIES, pure=False)
                number_of = {future: number for number, future in enumerate(futures)}
                for future, result in distributed.as_completed(futures, with_results=True):
                    yield number_of[future], result
        except (OSError, ValueError, distributed.client.FutureCancelledError) as error:
            raise UserError(
                f"the Dask cluster at {where} cannot be used ({error})",
                "give --dask the address that its scheduler prints",
            ) from None
        except ImportError as error:
            raise UserError(f"Dask's workers cannot import what they need ({error})", "install it for them") from None
        except distributed.KilledWorker as error:
            raise UserError(
                f"some work ended its worker several times ({error})", "give the workers more memory, and run it again"
            ) from None


@contextlib.contextmanager
def _cluster_at(where: str, workers: int) -> Iterator[Any]:
    """An address, or a cluster that ends with the ingest."""
    if where == "local":
        import dask
        from distributed import LocalCluster

        with undisturbed(), dask.config.set(_LOCAL_WORKERS):
            cluster = LocalCluster(
                workers, threads_per_worker=1, memory_limit=0, dashboard_address=None, silence_logs=logging.CRITICAL
            )  # its workers may complain while they end
    elif where == "slurm":
        cluster = _slurm_cluster()
        cluster.scale(n=workers)
    else:
        yield where
        return
    with cluster:
        yield cluster


def _slurm_cluster() -> Any:
    """A cluster in Slurm jobs, by Dask's own settings of this machine (`jobqueue.yaml`)."""
    if not shutil.which("sbatch"):
        raise UserError(
            "sbatch was not found", "run it where Slurm is installed, or pass --dask the address of a scheduler"
        )
    try:
        import dask
        from dask_jobqueue import SLURMCluster
    except ImportError:
        raise UserError("dask-jobqueue is not installed here", "pip install 'scalelens[dask]'") from None
    missing = {
        name: value
        for name, value in _SLURM_DEFAULTS.items()
        if dask.config.get(f"jobqueue.slurm.{name}", None) is None
    }
    if dask.config.get("jobqueue.slurm.python", None) is None:
        missing["python"] = shlex.quote(sys.executable)  # it stands in the job script as it is
    return SLURMCluster(**missing)


_one_at_a_time = threading.Lock()  # a worker may have many threads, and a batch changes settings of its process


def _read_on_worker(batch: list[WalkedFile], options: IngestOptions, ingest: str) -> list[Entry]:
    """Reads a batch and commits it; `ingest` distinguishes one ingest from the next on the same worker."""
    with _one_at_a_time:
        formats, contents, store = _prepared(options, ingest)
        try:
            return read_batch(batch, options, formats, contents, lambda _: None, store)
        except BaseException:
            _prepared.cache_clear()  # its contents hold some that were not committed
            raise


@functools.lru_cache(1)
def _prepared(options: IngestOptions, ingest: str) -> tuple[Formats, Contents, Warehouse]:
    """What all batches of one ingest need."""
    formats, store = load(options.format_folders), Warehouse(options.warehouse)
    live, _ = store.read()
    return formats, known_contents(live, formats, options), store
