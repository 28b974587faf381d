"""Answers about the private table from a release alone: with guaranteed bounds, or an interval."""

from voile.query.answer import Answer, answer
from voile.query.synthesis import EstimatedAnswer

__all__ = ["Answer", "EstimatedAnswer", "answer"]
