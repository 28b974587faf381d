"""Top-k rankings as boxes of at least k rows: the pure decision on a few small arrays."""
