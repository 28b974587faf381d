"""Answers about the private table, with guaranteed bounds, from a release alone."""

from voile.query.answer import Answer, answer

__all__ = ["Answer", "answer"]
