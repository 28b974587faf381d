"""``voile share`` and its commands."""
