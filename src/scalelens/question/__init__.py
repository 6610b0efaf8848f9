"""A question and its answer: the one way on which command line, library, charts, report and workers ask a warehouse."""
