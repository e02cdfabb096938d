"""Sphinx configuration."""

import modae

project = "modae"
author = "The modae developers"
project_copyright = "2026, The modae developers"
version = release = modae.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx-mathjax-offline",
    "sphinx.ext.viewcode",
]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
autosummary_generate = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"
numpydoc_show_class_members = False
exclude_patterns = ["_build", "pictures"]

html_theme = "pydata_sphinx_theme"
html_title = "modae"
html_theme_options = {"show_prev_next": False, "navigation_with_keys": False}
html_sidebars = {"**": []}
