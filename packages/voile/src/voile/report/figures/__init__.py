"""Charts: pure functions from numbers to SVG, one module per kind.

- ``canvas``     the sheet: colours of the page, fonts, the way to SVG, the table beside a chart
- ``rates``      attacks: success against the baseline of guessing
- ``losses``     measures between a release that is untouched and one that is useless
- ``shares``     how the values of a column are distributed, before and after
- ``parts``      a measure of each column, or of each pair of columns
- ``frontier``   risk against loss, with the points that no other beats
- ``curves``     a rate or a measure over a parameter
"""
