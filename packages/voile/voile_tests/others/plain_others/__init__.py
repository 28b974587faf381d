"""A package of somebody else, found by its entry points alone."""
