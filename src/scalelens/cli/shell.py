"""Ask in SQL at a prompt."""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from scalelens.cli.options import WAREHOUSE, OutputFormat, QueryFolders, Unsafe, WarehouseOption
from scalelens.cli.output import errors, say, show
from scalelens.errors import UserError

PANEL = "Ask"
_HELP = """A statement ends with a semicolon: FROM scaling();
.tables    names of the tables      .queries   names of the queries, each a macro: FROM batch_stats(warmup := 5);
.help      this                     .quit      the end, as ^D"""


def shell(
    warehouse: WarehouseOption = WAREHOUSE,
    format: OutputFormat = None,
    folders: QueryFolders = None,
    unsafe: Unsafe = False,
) -> None:
    """Ask in SQL at a prompt, with all tables and queries; a semicolon ends a statement, ^D the shell.

    What comes through a pipe is carried out as it is, up to the first statement that fails.

    Examples:

    scalelens shell

    scalelens shell -w study --format csv < questions.sql
    """
    from scalelens.question.question import Question
    from scalelens.question.session import Session
    from scalelens.tables import documented

    at_prompt = sys.stdin.isatty()
    session = Session(warehouse, tuple(folders or ()), unsafe=unsafe)
    names = {".tables": sorted(documented()), ".queries": sorted(session.queries)}
    session.open()
    if at_prompt:
        _remember([name for group in names.values() for name in group])
        errors.print(f"{warehouse}; .help shows more", markup=False)
    for statement in _statements(at_prompt):
        if statement in (".quit", ".exit"):
            return
        if statement.startswith("."):
            say("  ".join(names[statement]) if statement in names else _HELP)
            continue
        try:
            show(session.ask(Question(sql=statement, unsafe=unsafe)).frame, format)
        except KeyboardInterrupt:
            errors.print("interrupted")
        except UserError as error:
            if not at_prompt:
                raise
            errors.print(f"{error}", markup=False)


def _statements(at_prompt: bool) -> Iterator[str]:
    """Statements and commands as they are typed.  ^C throws away what was begun, ^D ends."""
    lines: list[str] = []
    while True:
        try:
            line = input(("      ...> " if lines else "scalelens> ") if at_prompt else "")
        except EOFError:
            break
        except KeyboardInterrupt:
            lines = []
            errors.print("")
            continue
        if line.startswith(".") and not lines:
            yield line.strip()
            continue
        lines += [line] if lines or line.strip() else []
        if line.rstrip().endswith(";"):
            yield "\n".join(lines)
            lines = []
    if lines:
        yield "\n".join(lines)


def _remember(names: Iterable[str]) -> None:
    """Keeps what is typed between sessions, and completes names, where Python has readline."""
    with suppress(ImportError, OSError):
        import atexit
        import readline

        words = sorted(names)
        state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state") / "scalelens"
        state.mkdir(parents=True, exist_ok=True)
        history = state / "history"
        readline.set_completer(lambda text, k: [*(word for word in words if word.startswith(text)), None][k])
        readline.set_completer_delims(" \t\n,;()=<>'")
        readline.parse_and_bind("tab: complete")
        atexit.register(lambda: readline.write_history_file(history))
        if history.exists():
            readline.read_history_file(history)
