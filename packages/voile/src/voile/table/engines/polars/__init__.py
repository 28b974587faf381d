"""The engine on one machine: rows in memory, each column coded by its dictionary."""
