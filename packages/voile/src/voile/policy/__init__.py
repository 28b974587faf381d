"""A risk appetite that a machine can check, and what a release's evidence says to it; private.

- ``criteria``   what a policy may ask, each with how its figure is found
- ``stated``     a policy in TOML
- ``templates``  policies from laws and guidance, with their sources
- ``case``       what stands in the folder of a study, an audit or a release
- ``ruling``     what a criterion finds, and what a human must make sure of, ticked in a file
- ``checking``   a policy held against a case: each criterion with its figure, interval and ruling
- ``remedies``   changes of a plan that may meet a criterion that is not met
- ``trying``     plans that are tried, and what each protects and loses
- ``choosing``   a search among them for the least loss that meets a policy, and its reasons
"""
