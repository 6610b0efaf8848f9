"""What the page says first, in sentences: each file of this folder is one question.

A finding is a module whose docstring is the question, with

    PLACE = 10                          where it stands on the page: what went wrong comes first
    SQL = "FROM outlier_gpus()"         the rows it is said of, one SELECT
    GLANCE = ("run_id", "ratio%")       their columns to show; a share with % behind it is shown in per cent
    CHART = "scaling"                   optional: the chart that shows it
    ABOUT_TRACES = True                 optional: it is asked of traces too, not only of logs
    def sentences(rows, names): ...     what is found, the most important first: a list of wording.Sentence
    def nothing(rows): ...              said where there is none: what was looked at, and found or not known

`rows` are the rows of the SQL as a polars DataFrame, `names` are the names of runs by id.
"""
