"""One file per format: the header of each is its documentation."""
