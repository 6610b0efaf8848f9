"""The charts: a file of this folder is a figure; `load.py` finds it and says what it must hold."""
