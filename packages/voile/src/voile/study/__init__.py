"""The corridor from a private table to a checked release on disk."""
