"""The version of Voile."""

__all__ = ["VERSION"]

VERSION = "0.1.0"
