"""How Sphinx builds the site; ``tools/make_site.py`` calls it on a copy of the pages."""

from voile_base.version import VERSION

project = "Voile"
author = "The Voile contributors"
copyright = "The Voile contributors, Apache License 2.0"  # noqa: A001 - Sphinx asks for this name
release = VERSION
smartquotes = False  # options are to be pasted
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 5
myst_enable_extensions = ["dollarmath", "deflist"]
suppress_warnings = ["myst.header", "misc.highlighting_failure"]
html_theme = "furo"
html_title = "Voile"
html_show_sourcelink = False
html_copy_source = False
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_mock_imports: list[str] = []
nitpicky = False
language = "en"
