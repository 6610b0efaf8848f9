"""Whether the name of a file or folder tells people which run it is: `bf16-large` does, `slurm-3665238` does not."""

from scalelens.parsing import lazy_re as re

_WORDS = re.compile(r"[A-Za-z]+")
# What launchers, trainers, meters and people call any log, and any folder of logs.
_OF_ANY_LOG = """
    all batch batches checkpoint checkpoints ckpt console cout data debug default dmon e emissions energy err error
    errors eval event events exp experiment experiments file files global history info job jobs launch lightning
    local log logfile logger logging logs loss losses main meta metric metrics monitor monitoring node nohup o out
    output outputs power predict progress rank raport raw readings report result results run runner running runs
    sensors slurm srun state stats stderr stdout step steps summary swift task tb telemetry tensorboard test tmp
    trace traces train trainer training trainlog txt usage val validation version wandb work worker workerlog
"""
_SAYS_NOTHING = frozenset(_OF_ANY_LOG.split())
_COUNT_OF_NODES = re.compile(r"n(?:odes?)?[-_]?\d{1,5}|\d{1,5}[-_]?(?:n|nodes?)", re.IGNORECASE)
# HOST_PROCESS.NANOSECONDS.pt.trace.json, as PyTorch's handler calls a trace: the host has a domain, or is one of AWS.
_OF_A_HOST = re.compile(r"(?:ip(?:-\d+){4}|[\w-]+(?:\.[a-z][\w-]*){1,8})_\d+\.\d{10,19}\.pt\.trace\.json(?:\.\w+)?")
_NUMBER = re.compile(r"\d{1,5}")
_OF_A_LAUNCH = re.compile(r"v\d{1,4}(?:-\d{8}-\d{6})?")  # ms-swift's folder of a launch, and others' of a version


def recognizable(stated: str) -> bool:
    """Whether a name that a tracker or a column gives is enough by itself: `wise-sun-7` is, the label `3` is not."""
    return not _NUMBER.fullmatch(stated)


def is_of_a_host(file_name: str) -> bool:
    """Whether a trace is called after the host and the process that wrote it, which says nothing of the run."""
    return _OF_A_HOST.fullmatch(file_name) is not None


def tells_something(name: str, has_facts: bool = True) -> bool:
    """Whether people would recognize a run by this name of a file or folder.

    A number of nodes alone tells nothing that the facts of a run do not tell better, if it has facts.
    """
    if _COUNT_OF_NODES.fullmatch(name):
        return not has_facts
    if _OF_A_LAUNCH.fullmatch(name):
        return False
    return any(word not in _SAYS_NOTHING for word in _WORDS.findall(name.lower()))
