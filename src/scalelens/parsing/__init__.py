"""The parser's kit: a file as bytes, as lines, as rows; values, sensors, trace events."""
