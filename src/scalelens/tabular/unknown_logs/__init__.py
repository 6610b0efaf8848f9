"""Lines of a log that no format knows: which of them record training steps, and what the numbers in them mean."""
