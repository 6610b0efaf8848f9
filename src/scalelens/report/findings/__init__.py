"""The findings of the report, in sentences: each file of this folder answers one question.

A finding is a module whose docstring is the question, with

    PLACE = 10                          its position on the page: what went wrong comes first
    SQL = "FROM outlier_gpus()"         the rows that it rests on, one SELECT
    GLANCE = ("run_id", "ratio%")       the columns to show; % after the name of a share makes it a percentage
    CHART = "scaling"                   optional: the chart that shows it
    ABOUT_TRACES = True                 optional: it is about traces, too, not only about logs
    def sentences(rows, names): ...     what was found, the most important first: a list of FindingSentence
    def nothing(rows): ...              the sentence if there is none: what was checked, and what is not known

`rows` are the rows of the SQL as a polars DataFrame; `names` are the names of runs by id.
"""
