"""ScaleLens: training logs, power logs and profiler traces to Parquet, SQL and figures."""

__version__ = "0.1.0"
