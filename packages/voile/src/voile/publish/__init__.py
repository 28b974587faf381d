"""The publishers: one module or folder per method."""
