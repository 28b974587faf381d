"""Formats of files beside Parquet and Arrow IPC, most of them read and written as a whole.

- ``registry``      which there are: names, endings, the extra that each needs
- ``delimited``     CSV: dialects, and strict parsing into typed columns
- ``encoding``      text files of any encoding
- ``excel``         workbooks
- ``statistics``    SPSS, Stata and SAS, with value labels; JSON lines; tracks in GPX
- ``databases``     a table or a query of a database

A format is an object with the four methods of ``registry.FileFormat``; another is a module and a
line of the registry.
"""
