"""The reference workloads: standalone scripts that import nothing of scalelens and meet it in a log file."""
