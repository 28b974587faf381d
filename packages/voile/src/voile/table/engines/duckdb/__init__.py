"""The engine beyond memory: rows as a SELECT, which DuckDB runs when something is asked of it."""
