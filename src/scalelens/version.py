"""The version, said once."""

__version__ = "1.0.0"
