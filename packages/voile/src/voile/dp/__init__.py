"""Differential privacy without tables: mechanisms, what they spend, and what that adds up to."""
