"""The site: sphinx-build docs site. Nothing in it loads anything from the network."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

import condgof  # noqa: E402

# Modules that users know under other names than their paths in the package.
sys.modules["condgof.fits"] = condgof.fits

project = "condgof"
author = "the condgof developers"
version = release = condgof.__version__
language = "en"

extensions = [
    "myst_nb",
    "sphinx.ext.autosummary",
    "sphinx.ext.autodoc",
    "numpydoc",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "mathml",
]
# dev: records of decisions, for those who work on the code.
exclude_patterns = ["_ext", "auto_gallery/*.ipynb", "gallery", "dev"]
default_role = "py:obj"
smartquotes = False  # they would turn --mean and 'feat_*' into what no shell reads
html_math_renderer = "mathml"

# Pages: MyST, executed at each build, and an error in a page is an error of the build.
myst_enable_extensions = ["amsmath", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_execution_in_temp = True  # pages write files
nb_merge_streams = True

# The reference.
templates_path = ["_templates"]
autosummary_generate = True
# Names that differ by case only are one file on some systems.
autosummary_filename_map = {
    f"condgof.{name}": f"condgof.{name}-class"
    for name in ("Check", "Monitor", "study.Problem")
}
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# The gallery: docs/gallery/plot_*.py, drawn by the build.
sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    "filename_pattern": r"plot_",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 30,
    "write_computation_times": False,
    "remove_config_comments": True,
    "capture_repr": (),
    "within_subsection_order": "gallery_order.ByTable",
}

html_theme = "sphinx_book_theme"
html_title = "condgof"
html_static_path = ["_static"]
html_css_files = ["custom.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "show_toc_level": 2,
    "use_download_button": False,
    "use_fullscreen_button": False,
    "home_page_in_toc": False,
    "show_navbar_depth": 1,
    "navbar_persistent": [],
    "pygments_light_style": "default",
    "pygments_dark_style": "github-dark",
}
