"""Sphinx configuration. The build needs no network."""

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
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
templates_path = ["_templates"]  # the sidebar, and the page of a class and of a function
autodoc_member_order = "bysource"
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"  # "fit", not "LinearModularAutoencoder.fit"
numpydoc_show_class_members = False
exclude_patterns = [
    "_build",
    "_templates",
    "pictures",
    "recipes/*.ipynb",
    "recipes/*.py",
    "certification.md",
]

# Recipes: the scripts in examples/ are run, and become the pages in docs/recipes. A script that did not
# change since the last build is not run again.
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "recipes",
    "filename_pattern": r"\.py$",  # run all of them, not only plot_*.py
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "capture_repr": (),  # what a script prints, and nothing else: it is the same as on a terminal
    "reset_modules": ("matplotlib",),
    "min_reported_time": 3600,  # each recipe says how long it takes; the time of a build may be another
    "write_computation_times": False,
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "remove_config_comments": True,
    "thumbnail_size": (480, 320),
    "image_srcset": ["2x"],
    # Names of modae in the code of a recipe lead to the API pages of this build.
    "doc_module": ("modae",),
    "reference_url": {"modae": None},
    "backreferences_dir": None,
    "inspect_global_variables": False,
}

# Only >>> and ... are prompts; the button copies what can be run.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .gp, .go"

html_theme = "pydata_sphinx_theme"
html_title = "modae"
html_static_path = ["_static"]
html_extra_path = ["_pages"]  # the example of a report, which `make docs` writes first
html_css_files = ["modae.css"]
html_show_sourcelink = False
html_copy_source = False
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {"text": "modae"},
    "navbar_align": "right",
    "navbar_center": [],  # the sidebar has all pages
    "navbar_persistent": ["search-button-field"],
    "navbar_end": ["theme-switcher"],
    "search_bar_text": "Search the docs",
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
    "show_prev_next": True,
    "navigation_with_keys": False,
    "back_to_top_button": True,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"**": ["sidebar.html"]}


def skip_inherited(app, what, name, obj, skip, options):
    """Leave out what comes from scikit-learn: its documentation is where it is described."""
    return skip or str(getattr(obj, "__module__", "")).startswith("sklearn.")


def setup(app):
    app.connect("autodoc-skip-member", skip_inherited)
