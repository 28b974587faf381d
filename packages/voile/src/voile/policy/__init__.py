"""A risk appetite that a machine can check, and what a release's evidence says to it; private.

- ``criteria``     what a policy may ask, each with how its figure is found
- ``stated``       a policy in TOML
- ``templates``    policies from laws and guidance, with their sources
- ``case``         what stands in the folder of a study, an audit or a release
- ``shown``        k, l and t of published rows
- ``assumptions``  what a human must make sure of, ticked in a file
- ``verdict``      each criterion with its figure, interval and ruling
- ``checking``     a policy held against a case
"""
