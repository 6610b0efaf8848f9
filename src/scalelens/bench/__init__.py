"""Starts the runners, here or by Slurm."""
