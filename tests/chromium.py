"""A page in headless Chromium, driven over a pipe: what it says to its console, what it asks of a network, what it shows.

Chromium speaks its DevTools protocol as JSON texts with a null byte after each, on the file descriptors 3 and 4.
"""

import base64
import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

NEEDS_CHROMIUM = pytest.mark.skipif(not shutil.which("chromium"), reason="chromium is not installed (Debian: chromium)")
_COMMAND = (
    "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe",
)  # fmt: skip
_SAID = {"Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"}


class Page:
    """An open page.  `said` are its messages and errors, `requests` all that it asked for but itself."""

    def __init__(self, commands: IO[bytes], answers: IO[bytes]) -> None:
        self._commands, self._answers, self._calls, self._session = commands, answers, 0, ""
        self.said: list[Any] = []
        self.requests: list[str] = []
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Runtime", "Log", "Network", "Page"):
            self._call(f"{domain}.enable")

    def open(self, path: Path, width: int, height: int = 900) -> None:
        """Opens a file in a window of this size, and waits until it has loaded."""
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self._call("Emulation.setEmulatedMedia", media="")
        self.said.clear()
        self.requests.clear()
        self._call("Page.navigate", url=path.as_uri())
        self.run("new Promise((done) => document.readyState === 'complete' ? done() : addEventListener('load', done))")
        self.requests = [url for url in self.requests if url != path.as_uri()]

    def run(self, script: str) -> Any:
        """The value of an expression in the page, which its policy does not hold back."""
        answer = self._call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def pdf(self) -> bytes:
        """The page on paper."""
        printed = self._call("Page.printToPDF", preferCSSPageSize=True, printBackground=True)
        return base64.b64decode(printed["data"])

    def on_paper(self, width: int) -> None:
        """Shows the page as it is printed, on paper of this width."""
        self._call("Emulation.setEmulatedMedia", media="print")
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)

    def _call(self, method: str, **parameters: Any) -> Any:
        self._calls += 1
        message = {"id": self._calls, "method": method, "params": parameters}
        message |= {"sessionId": self._session} if self._session else {}
        self._commands.write(json.dumps(message).encode() + b"\0")
        self._commands.flush()
        while (answer := self._next()).get("id") != self._calls:
            pass
        assert "error" not in answer, answer
        return answer["result"]

    def _next(self) -> Any:
        message = json.loads(b"".join(iter(lambda: self._answers.read(1), b"\0")))
        if message.get("method") in _SAID:
            self.said.append(message["params"])
        if message.get("method") == "Network.requestWillBeSent":
            self.requests.append(message["params"]["request"]["url"])
        return message


@contextmanager
def chromium(folder: Path) -> Iterator[Page]:
    """A browser with a new profile in `folder`."""
    command = [*_COMMAND, f"--user-data-dir={folder / 'profile'}"]
    (of_browser, commands), (answers, of_page) = os.pipe(), os.pipe()
    theirs = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (of_browser, of_page)]  # so that neither is 3 or 4

    def put_the_pipes_where_chromium_looks() -> None:
        os.dup2(theirs[0], 3)
        os.dup2(theirs[1], 4)

    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    browser = subprocess.Popen(command, close_fds=False, preexec_fn=put_the_pipes_where_chromium_looks, **quiet)
    for end in (of_browser, of_page, *theirs):
        os.close(end)
    try:
        with os.fdopen(commands, "wb") as writer, os.fdopen(answers, "rb") as reader:
            yield Page(writer, reader)
    finally:
        browser.kill()
        browser.wait()
