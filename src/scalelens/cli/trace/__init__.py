"""Look into profiler traces."""

PANEL = "Traces"
