"""How Sphinx builds the site; `nox -s docs` runs it, with every warning as an error.

What is told of Ricci in figures and tables is made by the modules of `_ext` while the site is
built, from the files that the tests check.
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE / "_ext"))

project = "Ricci"
author = "the Ricci developers"
project_copyright = author
version = release = (ROOT / "VERSION").read_text(encoding="utf-8").strip()

extensions = [
    "myst_nb",
    "generated",
    "reference",
    "run_times",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["_build", "_ext"]
nitpicky = True
highlight_language = (
    "text"  # of blocks that name none; examples with prompts are known all the same
)

napoleon_custom_sections = ["Source", "Pitfall", "Pitfalls"]
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_use_param = False
napoleon_use_rtype = False
python_maximum_signature_line_length = 88

# Pages in Markdown. Headings are targets of links, `developing.md#other-processors`.
myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "fieldlist", "linkify"]
myst_heading_anchors = 4
myst_linkify_fuzzy_links = False

# Pages with `{code-cell}` are notebooks. One is executed again only when its code has changed.
nb_execution_mode = "cache"
nb_execution_raise_on_error = True
nb_execution_timeout = 180
nb_merge_streams = True
nb_render_markdown_format = "myst"

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True

html_theme = "pydata_sphinx_theme"
html_title = "Ricci"
html_static_path = ["_static"]
html_css_files = ["ricci.css"]
html_favicon = "_static/logo.svg"
html_copy_source = False
html_theme_options = {
    "logo": {
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo.svg",
        "text": "Ricci",
        "alt_text": "Ricci, the home page",
    },
    "header_links_before_dropdown": 7,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
}
# The reference has more pages than a list beside each of them could show.
html_sidebars = {"index": [], "reference/api/*": []}
