"""The page as one HTML file that loads nothing else, with the library that draws inside.

Every text from a file is data in it: JSON in which nothing ends the element that holds it.  The page's policy allows
only its own scripts, by their hashes, and Vega reads its expressions without making code of them.
"""

import base64
import hashlib
import shlex
from collections.abc import Sequence
from pathlib import Path
from string import Template
from typing import Any

import vl_convert

from scalelens.charts import style
from scalelens.errors import UserError
from scalelens.question.question import Question
from scalelens.question.session import Session, in_session
from scalelens.report.explore.rows import as_json, rows_of_kinds
from scalelens.report.html_tables import inert
from scalelens.report.neighbors import link_to
from scalelens.report.provenance_in_files import vega_lite_version
from scalelens.report.subject import SQL as SUBJECT_SQL
from scalelens.report.subject import subject_of
from scalelens.report.text.sentences import plural
from scalelens.version import __version__
from scalelens.whole_files import write_file

_FOLDER = Path(__file__).parent
_SCRIPTS = ("rows", "filters", "picture", "table", "leaving", "controls")


def write_explore(
    root: Path, path: Path, title: str = "", query_folders: tuple[Path, ...] = (), command: Sequence[str] = ()
) -> Path:
    """Writes the page of a warehouse.  `command` is the beginning and the end of the line that draws a picture again.

    Raises UserError where there is no warehouse or no row, and where the file cannot be written.
    """
    kinds, heading, n_files, digest = in_session(root, _asked, query_folders)
    if not kinds:
        raise UserError(f"no file in {root} contains a run", 'list the files: scalelens sql "FROM files"')
    data = {
        "kinds": kinds,
        "colors": style.COLORS,
        "mostColors": style.MOST_SERIES,
        "command": [*(command or ("scalelens plot", f" -w {shlex.quote(str(root))}"))],
        "made": f"ScaleLens {__version__}, of {plural(n_files, 'file')}; sha256 of their ids: {digest}",
    }
    text = _page(data, title or heading or root.name, n_files, link_to("report", path))
    write_file(path, text.encode(errors="replace"))
    return path


def _asked(session: Session) -> tuple[list[dict[str, Any]], str, int, str]:
    """The rows, what they are about, the number of files and the hash of their ids."""
    files = session.ask(Question(sql="SELECT DISTINCT file_id FROM files ORDER BY file_id")).frame["file_id"].to_list()
    subject = subject_of(session.ask(Question(sql=SUBJECT_SQL)).frame)
    return rows_of_kinds(session), subject.title, len(files), hashlib.sha256("\n".join(files).encode()).hexdigest()


def _page(data: dict[str, Any], heading: str, n_files: int, report: str) -> str:
    library = str(vl_convert.javascript_bundle(vl_version=vega_lite_version()))  # type: ignore[call-arg]
    common = (_FOLDER.parent / "common.js").read_text(encoding="utf-8")
    own = common + "".join((_FOLDER / f"{name}.js").read_text(encoding="utf-8") for name in _SCRIPTS)
    script = f"(() => {{\n{own}}})();"  # the library has names of its own at the top
    style_of_report = (_FOLDER.parent / "page.css").read_text(encoding="utf-8")
    return Template((_FOLDER / "explore.html").read_text(encoding="utf-8")).substitute(
        script_hashes=" ".join(f"'sha256-{_digest(text)}'" for text in (library, script)),
        version=__version__,
        title=inert(heading),
        style=style_of_report + (_FOLDER / "explore.css").read_text(encoding="utf-8"),
        origin=f"{plural(n_files, 'file')}, read by ScaleLens.{report}",
        footer=f"{inert(data['made'])}. This page loads nothing from a network.",
        data=as_json(data),
        library=library,
        script=script,
    )


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
