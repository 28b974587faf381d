"""Roles of attributes, plans and exact numbers: what is known before any row is read."""
