"""Reports: one HTML file from the records of studies, grids and verdicts, and nothing else.

- ``html``             records in, pages out; the dossier for those who decide
- ``pages``            what stands in the reports of a study, of a grid and of a fleet
- ``grid``             the studies of a grid side by side, and in a few plain sentences
- ``words``            numbers and names in words
- ``figures``          charts
- ``templates``        pages and their style sheet
"""
