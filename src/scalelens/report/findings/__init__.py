"""The findings of the report, in sentences: each file of this folder answers one question.

A finding is a module whose docstring is the question, with

    PLACE = 10                          its position among the findings that weigh the same
    SQL = "FROM outlier_gpus()"         the rows that it rests on, one SELECT
    GLANCE = ("run_id", "ratio%")       the columns to show; % after the name of a share makes it a percentage
    CHARTS = ("scaling",)               optional: charts, the first that can be drawn is shown; parameters follow the
                                        name: "accuracy score_name=loss"
    def charts(rows): ...               optional: CHARTS in the order for these rows
    def run_to_draw(rows): ...          optional: the run to draw where a chart shows a single one
    ABOUT_TRACES = True                 optional: it is about traces, too, not only about logs
    def question(rows): ...             optional: the question that these rows answer, if not the docstring's
    QUERY = "scaling"                   optional: the query that says why there are no rows
    ONLY_WITH_ROWS = True               optional: it is left out where its SQL has no rows
    IS_REMARK = True                    optional: it changes no conclusion unless a sentence has weight
    def sentences(rows, names): ...     what was found, the most important first: a list of FindingSentence
    def nothing(rows): ...              the sentence if there is none: what was checked, and what is not known
    def number(rows, names): ...        optional: its KeyNumber for the first screen, or None
    NUMBER_PLACE = 10                   which numbers go first where there are more than the first screen shows; of
                                        findings with the same place, the first that has a number

`rows` are the rows of the SQL as a polars DataFrame; `names` are the names of runs by id.
"""

# Runs of traces alone that show no device: a log with times of steps, or a device, tells more.
TRACES_OF_HOSTS = (
    "run_id NOT IN (SELECT run_id FROM events WHERE category = ''kernel'') "
    "AND run_id NOT IN (SELECT run_id FROM steps WHERE step_s > 0)"
)
