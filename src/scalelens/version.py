"""The version, said once."""

__version__ = "1.1.1"
