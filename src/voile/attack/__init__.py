"""Adversaries, who have published files and stated knowledge and nothing else."""

from voile.attack.differencing import DifferencingAttack
from voile.attack.identification import IdentificationAttack
from voile.attack.outcome import AttackOutcome
from voile.attack.result import AttackResult

__all__ = ["AttackOutcome", "AttackResult", "DifferencingAttack", "IdentificationAttack"]
