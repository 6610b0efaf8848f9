"""The history of a run as a tracker keeps it: named numbers by step and time, as rows of `steps` and `metrics`."""
