"""Starts the runners, on this machine or by Slurm."""
