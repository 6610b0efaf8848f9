"""A warehouse as Python sees it: everything that the command line does, as methods.

Each example runs in a folder with `logs`, those of the demo.
"""

from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from scalelens.old_names import with_old_arguments
from scalelens.warehouse.root import DEFAULT_WAREHOUSE, root_of

if TYPE_CHECKING:
    import duckdb
    import polars

    from scalelens.ingestion.batch import Progress
    from scalelens.ingestion.ingest import IngestReport
    from scalelens.question.question import Question
    from scalelens.question.session import Session
    from scalelens.report.plotting import Plotted
    from scalelens.report.verification import Verification

AnyPath = str | PathLike[str]
_Result = TypeVar("_Result")


class Study:
    """A warehouse that questions are asked of, one after the other; they share what they compute.

    `queries` are folders with queries of your own.  It sees what other processes commit, and is a context manager:

    >>> with scalelens.open("study") as study:
    ...     study.ingest("logs")
    IngestReport(16 ...)

    Raises UserError where a method cannot do what is asked: one line, with what to do instead.
    """

    def __init__(self, warehouse: AnyPath = DEFAULT_WAREHOUSE, queries: Iterable[AnyPath] = ()) -> None:
        self.root = root_of(warehouse)
        self._folders = tuple(map(Path, queries))
        self._session: Session | None = None
        self._records: list[str] = []

    def __repr__(self) -> str:
        return f"Study({str(self.root)!r})"

    def __enter__(self) -> "Study":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of the connection; the next question opens it again.

        >>> study.close()
        """
        if self._session:
            self._session.close()
            self._session = None

    @with_old_arguments
    def ingest(
        self,
        *paths: AnyPath,
        jobs: int | None = None,
        format_folders: Iterable[AnyPath] = (),
        documents: bool = False,
        dry_run: bool = False,
        on_progress: "Callable[[int, int], Progress] | None" = None,
        time_zone: str | None = None,
        columns: Iterable[str] = (),
        reread: bool = False,
        shard: str | None = None,
        dask: str | None = None,
        trust_sidecars: bool = False,
    ) -> "IngestReport":
        """Reads files and folders into the warehouse; a notebook shows the report that it returns.

        >>> study.ingest("logs", jobs=2)
        IngestReport(16 unchanged, 0 rows)

        `jobs`: processes.  `format_folders`: folders with formats of your own.  `documents`: read documentation that
        quotes logs, too.  `dry_run`: report, and write nothing.  `on_progress(files, bytes)` is called once the work is
        known, and returns the function that is called with bytes read.  `time_zone`: of times that name none, such as
        "Europe/Berlin".  `columns`: what columns of tables are, `["batch_time=col:ms"]`.  `reread`: read files that
        have not changed, too.  `shard="2/8"`: read the second of eight parts of the files; other processes read the
        others.  `dask`: a cluster that reads, the address of its scheduler, "local" or "slurm".  `trust_sidecars`: read
        a scalelens.toml above `paths` that somebody else may have written, too.
        """
        from scalelens.ingestion import ingest
        from scalelens.ingestion.shards import shard_of

        return ingest.ingest(
            [Path(path) for path in paths],
            self.root,
            jobs,
            tuple(Path(folder) for folder in format_folders),
            documents,
            dry_run,
            on_progress,
            time_zone,
            tuple(columns),
            reread,
            shard_of(shard) if shard else None,
            dask,
            trust_sidecars,
        )

    def query(
        self,
        name: str,
        *,
        where: str | None = None,
        sort: str | None = None,
        limit: int | None = None,
        select: str | None = None,
        **parameters: Any,
    ) -> "polars.DataFrame":
        """Rows of a query.

        >>> study.query("batch_stats", select="run_id, step_s", where="step_s < 0.2", sort="-step_s", limit=2, warmup=5)
        shape: (2, 2)
        ┌──────────────┬──────────┐
        │ run_id       ┆ step_s   │
        │ ---          ┆ ---      │
        │ str          ┆ f64      │
        ╞══════════════╪══════════╡
        │ ...
        └──────────────┴──────────┘

        `where`: SQL condition on its rows.  `sort`: columns, - for descending.  `limit`: rows at most.  `select`:
        columns, or SQL expressions of them.
        """
        from scalelens.question.question import Question, select_of

        return self._ask(Question(name, parameters=parameters, select=select_of(select, where, sort, limit)))

    def sql(self, statement: str) -> "polars.DataFrame":
        """Rows of a DuckDB statement about the documented tables; every query is a macro of its name.

        >>> study.sql("SELECT count(*) AS runs FROM runs")["runs"].item()
        8
        """
        from scalelens.question.question import Question

        return self._ask(Question(sql=statement))

    def runs(self, condition: str = "") -> "polars.DataFrame":
        """What was run, one row per run; of the runs that a condition on them selects.

        >>> study.runs("devices = 2")["outcome"].unique().to_list()
        ['completed']
        """
        return self.query("runs_overview", runs=condition)

    def queries(self) -> "polars.DataFrame":
        """The questions that have a name, and what each answers.

        >>> study.queries().filter(name="scaling")["answers"].item()
        'How well does training scale, and relative to which base?'
        """
        import polars as pl

        from scalelens.queries.load import load

        loaded = sorted(load(self._folders).values(), key=lambda query: (query.topic, query.name))
        rows = [(query.topic, query.name, query.question) for query in loaded if not query.is_helper]
        return pl.DataFrame(rows, schema=["topic", "name", "answers"], orient="row")

    def explain(self, name: str) -> str:
        """What a query computes: definition, formula, reference, assumptions, limits and SQL.

        >>> print(study.explain("mfu").splitlines()[0])
        mfu: Model FLOP/s utilization: the operations that the model needs a second, over the dense peak of the devices.

        Of the name of a column: the queries that have it.
        """
        from scalelens.queries.explain import explain

        return explain(name, self._folders)

    def plot(
        self,
        name: str,
        path: AnyPath | None = None,
        *,
        settings: Mapping[str, Any] | None = None,
        **parameters: Any,
    ) -> "Plotted":
        """Draws a chart that a notebook shows; with `path` to a file too: .pdf .svg .png .html .json

        >>> study.plot("scaling", "scaling.svg", settings={"width": "ieee-single"})
        Plotted(10 rows)

        `settings` are those of `[figure.NAME]` in a `scalelens.toml`, as the options of `scalelens plot`:
        `{"width": "ieee-single", "height": "60mm", "font_size": 8, "theme": "dark", "title": "...", "caption": False,
        "labels": {"old": "new"}, "order": ["a", "b"], "colors": {"a": "#D55E00"}, "xlim": "1:8", "ylim": "0:100",
        "log": "x", "facet": "precision"}`.  A sidecar is not read.  `parameters` are those of the chart's query.  The
        result has the Altair `chart`, the `rows` that it shows, and their `provenance`.
        """
        from scalelens.report import plotting

        return plotting.plot(self.root, name, None if path is None else Path(path), parameters, settings, self._folders)

    def report(self, path: AnyPath, *, title: str = "", traces_alone: bool = False) -> Path:
        """Writes one offline page: a summary, then the findings by weight.

        >>> study.report("report.html").name
        'report.html'
        """
        from scalelens.report.html import write_report

        return write_report(self.root, Path(path), title, traces_alone, self._folders, folder=self.root.name)

    def explore(self, path: AnyPath, *, title: str = "") -> Path:
        """Writes one offline page to look around in: runs, sizes, epochs, slow steps and kernels.

        >>> study.explore("explore.html").name
        'explore.html'
        """
        from scalelens.report.explore.page import write_explore

        return write_explore(self.root, Path(path), title, self._folders)

    def compare(self, a: str, b: str, **parameters: Any) -> "polars.DataFrame":
        """Whether b is slower than a, by how much, and how sure that is: one row.

        >>> study.compare("bf16-r1", "fp32-r1")["verdict"].item()
        'slower'

        A side is a run's name or id, `key=value`, or a condition as in `runs`.
        """
        return self.query("compare", a=a, b=b, **parameters)

    def verify(self, *files: AnyPath, sources: bool = True) -> "dict[str, Verification]":
        """Whether figures and tables are still what the logs give, by file; `sources` hashes the logs again, too.

        >>> study.verify("scaling.svg")["scaling.svg"].verdict
        'same'
        """
        from scalelens.report.remaking import verified

        return {str(file): verified(Path(file), self.root, self._folders, sources) for file in files}

    def audit(self, file: AnyPath) -> "polars.DataFrame":
        """Numbers of a text that cannot all be true, and those that the warehouse reproduces, or does not.

        >>> study.audit("paper.md").columns[:2]
        ['kind', 'matters']
        """
        from scalelens.audit.inconsistencies import inconsistencies
        from scalelens.audit.printing import rows_of
        from scalelens.audit.reading import read
        from scalelens.audit.warehouse.matching import Auditor
        from scalelens.audit.warehouse.text import findings_of

        document = read(Path(file))
        return rows_of([*inconsistencies(document), *findings_of(document, Auditor(self.root, self._folders))])

    def critical_path(
        self, rank: int | None = None, *, run: str = "", step: int | None = None, by: str = "warehouse",
        annotation: str = "ProfilerStep", instance: int = 0,
    ) -> "polars.DataFrame":  # fmt: skip
        """The chain of work that decides how long a step takes, across ranks: rows of the query `critical_path`.

        `run`: the beginning of a run's id.  `rank`, `step`: pieces of one rank, or of one step.  With `by="hta"`
        Holistic Trace Analysis (extra `hta`) finds the path of one rank, of the span number `instance` called
        `annotation`.

        >>> study.critical_path(step=3).columns  # doctest: +SKIP
        ['run_id', 'train_step', 'kind', 'rank', 'name', 'pieces', 'duration_ns', 'share', ...]
        """
        from scalelens.errors import UserError
        from scalelens.traces import critical_path

        if by == "hta":
            return critical_path.critical_path_by_hta(self.root, rank or 0, run, annotation, instance)
        if by != "warehouse":
            raise UserError(f"by is 'warehouse' or 'hta', not {by!r}")
        quoted = run.replace("'", "''")
        rows = self.query("critical_path", runs=f"starts_with(run_id, '{quoted}')" if run else "")
        return critical_path.chosen(rows, rank, step)

    def connect(self) -> "duckdb.DuckDBPyConnection":
        """A DuckDB connection of your own: tables as views, queries as macros.

        >>> study.connect().sql("FROM runs").shape[0]
        8
        """
        from scalelens.question.session import Session

        return Session(self.root, self._folders).connection

    def _ask(self, question: "Question") -> "polars.DataFrame":
        """Rows of an answer, from records as they are now."""
        return self.in_session(lambda session: session.ask(question).frame)

    def in_session(self, work: "Callable[[Session], _Result]") -> "_Result":
        """What `work` makes of the open warehouse, its records as they are now; for programs that ask many questions.

        >>> study.in_session(lambda session: len(session.run_names))
        8
        """
        from scalelens.database.errors import SegmentError
        from scalelens.question.session import Session
        from scalelens.warehouse.log import Warehouse

        store = Warehouse(self.root)
        while True:
            records = store.names() if store.exists() else []
            if self._session is None or records != self._records:
                self.close()
                self._session, self._records = Session(self.root, self._folders), records
            try:
                return work(self._session)
            except SegmentError:
                self.close()
                if store.names() == records:
                    raise  # else `compact` replaced the segments meanwhile
