"""A database of operators with samples of their inputs, in plain Python, and torch's results for them."""
