"""The process that holds the study.  It is apart from the one that speaks the protocol: whatever a question needs, that
one goes on, and starts another where this one takes too long, too much memory, or ends.

Both send frames over pipes: the number of bytes, then MessagePack.
"""

import contextlib
import os
import queue
import resource
import secrets
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec

import scalelens
from scalelens.assistant.load import arguments_of, tools_for
from scalelens.database.errors import UNSAFE
from scalelens.errors import UserError
from scalelens.inert import visible, visible_throughout
from scalelens.report.envelopes import json_of

_MOST_BYTES = 4 << 30  # of memory that a question may write to, as little as on a shared login node
_THREAD_BYTES = 32 << 20  # of a core: libraries start threads for each, whose stacks count
_LENGTH = struct.Struct("<Q")
_ENDS_WITHIN_S = _IDLE_AFTER_S = 1.0
_LONGEST_REASON = 6_000  # characters
_ENDED = "the question needed more memory or time than it may have, and was stopped"


class Settings(NamedTuple):
    """What the server was started with."""

    warehouse: str
    root: str | None = None
    writes: bool = False
    query_folders: Sequence[str] = ()
    drawings: str = ""  # folder for figures and reports; made when the first is drawn


class Told(NamedTuple):
    """The answer to a call, as text, and pictures."""

    text: str
    pictures: Sequence[bytes] = ()
    is_error: bool = False


class Worker:
    """Starts the process, and asks it one call after the other."""

    def __init__(self, settings: Settings) -> None:
        named = os.path.join(tempfile.gettempdir(), f"scalelens-{secrets.token_hex(8)}")
        self._settings = settings._replace(drawings=settings.drawings or named)
        self._scratch = tempfile.mkdtemp(prefix="scalelens-")  # where DuckDB puts what memory cannot hold
        self._turn = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._start()

    def call(self, tool: str, arguments: Mapping[str, Any], limit_s: float) -> Told:
        """The answer of a tool.  A process that gives none in time, or dies, is replaced."""
        with self._turn:
            if self._process is None or self._process.poll() is not None:
                self._start()
            assert self._process and self._process.stdin and self._process.stdout
            timer = threading.Timer(limit_s, self._kill)
            timer.start()
            try:
                _send(self._process.stdin, {"tool": tool, "arguments": arguments})
                told = _received(self._process.stdout)
            except OSError:
                told = None
            finally:
                timer.cancel()
            if told is None:
                self._kill()
                self._start()
                return refusal(f"{_ENDED} (after at most {limit_s:g} s)", "ask for fewer runs or rows")
            return msgspec.convert(told, Told)

    def close(self) -> None:
        """Lets the process end by itself, if it does so at once."""
        if self._process is not None and self._process.stdin:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_ENDS_WITHIN_S)
        self._kill()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def _start(self) -> None:
        code = "import sys; sys.path.insert(0, sys.argv[1]); from scalelens.assistant.worker import work; work()"
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", code, str(Path(scalelens.__file__).parent.parent)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
            env={**os.environ, "TMPDIR": self._scratch},
        )  # fmt: skip
        assert self._process.stdin
        with contextlib.suppress(OSError):
            _send(self._process.stdin, self._settings)

    def _kill(self) -> None:
        """Ends the process, and those that it started."""
        if self._process is not None and self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            with contextlib.suppress(FileNotFoundError):  # it may have removed the folder itself
                for name in os.listdir(self._scratch):
                    shutil.rmtree(os.path.join(self._scratch, name), ignore_errors=True)


def refusal(reason: str, remedy: str = "") -> Told:
    """An answer that says why there is none.  It may quote a log, such as the names of runs that there are."""
    text = f"{reason}; {remedy}" if remedy else reason
    text = visible(text.encode("utf-8", "replace").decode()[:_LONGEST_REASON], lines=True)
    return Told(json_of({"error": "refused", "untrusted_reason": text}), (), True)


# Within the process


def work() -> None:
    """Answers calls until the other end of the pipe is closed; then ends, in the middle of a question, too."""
    calls, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)  # what a library prints must not stand among the answers
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _bound_memory()
    waiting: queue.Queue[Any] = queue.Queue()
    settings = _received(calls)
    threading.Thread(target=_listen, args=(calls, waiting), daemon=True).start()
    office = Office(msgspec.convert(settings, Settings))
    office.open()
    while (call := _next_call(waiting, office)) is not None:
        _send(answers, office.answer(call["tool"], call["arguments"]))
        office.prepare()
    office.desk.study.close()


def _next_call(waiting: "queue.Queue[Any]", office: "Office") -> Any:
    """The next call; None where there will be none.  Where there is none yet, what many calls need is prepared."""
    try:
        return waiting.get(timeout=_IDLE_AFTER_S)
    except queue.Empty:
        office.prepare()
        return waiting.get()


def _bound_memory() -> None:
    """Lets the system refuse memory to a question that takes far too much, unless SCALELENS_MEMORY allows more."""
    with contextlib.suppress(ValueError, OSError):
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        most = _MOST_BYTES + _THREAD_BYTES * (os.cpu_count() or 1)
        if not os.environ.get("SCALELENS_MEMORY") and not 0 <= hard < most:
            resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


def _listen(calls: BinaryIO, waiting: "queue.Queue[Any]") -> None:
    while (call := _received(calls)) is not None:
        waiting.put(call)
    waiting.put(None)
    time.sleep(_ENDS_WITHIN_S)  # a question may be carried out, perhaps by other processes
    if os.path.basename(tempfile.gettempdir()).startswith("scalelens-"):  # whoever made it may be dead
        shutil.rmtree(tempfile.gettempdir(), ignore_errors=True)
    with contextlib.suppress(OSError):
        os.killpg(os.getpgid(0), signal.SIGKILL)
    os._exit(0)


def _send(pipe: Any, message: Any) -> None:
    content = msgspec.msgpack.encode(message)
    pipe.write(_LENGTH.pack(len(content)) + content)
    pipe.flush()


def _received(pipe: Any) -> Any:
    """The next message; None where there is none left."""
    length = pipe.read(_LENGTH.size)
    if len(length) < _LENGTH.size:
        return None
    content = pipe.read(_LENGTH.unpack(length)[0])
    return msgspec.msgpack.decode(content) if len(content) == _LENGTH.unpack(length)[0] else None


class Office:
    """Answers calls of tools with the desk that they share."""

    def __init__(self, settings: Settings) -> None:
        from scalelens.assistant.desk import Desk

        self.tools = tools_for(map(Path, settings.query_folders))
        self.desk = Desk(settings.warehouse, settings.root, settings.writes, settings.query_folders, settings.drawings)

    def open(self) -> None:
        """Opens the warehouse before the first question; where that fails, the question says why."""
        with contextlib.suppress(Exception):
            self.desk.study.in_session(lambda session: session.run_names)

    def prepare(self) -> None:
        with contextlib.suppress(Exception):  # a question says what is wrong
            self.desk.prepare()

    def answer(self, name: str, given: Any) -> Told:
        """The answer of a tool; whatever goes wrong is an answer, too."""
        try:
            if name not in self.tools:
                raise UserError("there is no tool of that name", f"there are {', '.join(self.tools)}")
            tool = self.tools[name]
            reply = tool.answer(self.desk, arguments_of(tool, given))
            pictures = [picture for picture in reply.pictures if picture]
            return Told(json_of(visible_throughout(reply.content)), pictures)
        except UserError as error:
            return refusal(str(error).replace(UNSAFE, "this server does nothing else"))
        except (OSError, MemoryError) as error:
            return refusal(f"the system refused it ({type(error).__name__})", "try again, or ask for less")
        except Exception as error:
            traceback.print_exc()
            return refusal(f"{name} failed ({type(error).__name__})", "this is a defect of ScaleLens: please report it")
