"""The kinds of check, one module each: a generator of results for one cell of the matrix."""
