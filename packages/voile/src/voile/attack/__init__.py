"""Adversaries, who have published files and stated knowledge and nothing else."""
