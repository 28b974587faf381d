"""Charts: pure functions from numbers to SVG, one module for what they show.

- ``canvas``     the sheet: colours of the page, fonts, the way to SVG, the table beside a chart
- ``evidence``   one release: attacks against guessing, measures from untouched to useless, columns
  before and after
- ``grids``      releases of a grid: risk against loss, a rate or a measure over a parameter
"""
