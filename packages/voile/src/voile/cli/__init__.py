"""The commands of this distribution: parse, call, show."""
