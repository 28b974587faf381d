"""Reports: one HTML file from the record of a study or of a grid of them, and nothing else.

- ``html``             records in, pages out
- ``study_page``       what stands in the report of one study
- ``comparison_page``  what stands in the report of a grid
- ``summary``          both in a few plain sentences
- ``reading``          attacks and measures as values with names
- ``grid``             the studies of a grid side by side
- ``facts``            documents of any shape as lists and tables
- ``words``            numbers and names in words
- ``figures``          charts
- ``templates``        pages and their style sheet
"""
