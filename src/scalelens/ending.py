"""Whether this process ends with the question that it was started for, so that nothing need be taken down."""

is_near = False
