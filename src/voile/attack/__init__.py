"""Adversaries, who have published files and stated knowledge and nothing else."""

from voile.attack.differencing import DifferencingAttack
from voile.attack.result import AttackResult

__all__ = ["AttackResult", "DifferencingAttack"]
