"""Private tables, their engines, and the door through which files and frames come in."""
