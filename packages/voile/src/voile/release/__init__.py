"""Releases, their guarantees, the history of a series, and the door through which they leave."""
