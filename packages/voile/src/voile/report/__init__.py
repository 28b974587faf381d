"""Reports: one HTML file from the records of studies, grids and verdicts, and nothing else.

- ``html``             records in, pages out
- ``study_page``       what stands in the report of one study
- ``dossier_page``     what stands in the dossier for those who decide
- ``comparison_page``  what stands in the report of a grid
- ``summary``          both in a few plain sentences
- ``reading``          attacks and measures as values with names
- ``grid``             the studies of a grid side by side
- ``words``            numbers and names in words
- ``figures``          charts
- ``templates``        pages and their style sheet
"""
