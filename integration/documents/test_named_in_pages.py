"""Names of Ricci that pages mention: modules, functions, and variables of the environment."""

import importlib
import re
from pathlib import Path

import pytest

import ricci

ROOT = Path(__file__).parents[2]
PAGES = [
    *sorted(ROOT.glob("docs/**/*.md")),
    *sorted(ROOT.glob("packages/*/README.md")),
    ROOT / "README.md",
]
PAGES = [page for page in PAGES if not {"_build", "api"} & {*page.relative_to(ROOT).parts}]
EVERY_PAGE = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
SOURCES = ("*.py", "packages/*/src/**/*.py", "packages/*/tests/*.py", "integration/**/*.py")
NAME = re.compile(r"(?<![\w./-])ricci(?:_\w+)?(?:\.[A-Za-z_]\w*)+\b(?!\.(?:py|md|toml|so)\b)")
# Texts of such a form that are not names of attributes.
OTHERS = {
    "ricci.tracing": "a logger",
    "ricci.experimental.mosaic": "a module that the page calls missing",
}


def exists(name: str) -> bool:
    """Whether a dotted name is that of a module, or of an attribute of one."""
    module, *attributes = name.split(".")
    value = importlib.import_module(module)
    for attribute in attributes:
        module = f"{module}.{attribute}"
        try:
            value = getattr(value, attribute)
        except AttributeError:
            try:
                value = importlib.import_module(module)
            except ImportError:
                return False
    return True


@EVERY_PAGE
def test_names_that_a_page_mentions_exist(page):
    names = set(NAME.findall(page.read_text(encoding="utf-8"))) - OTHERS.keys()
    assert [name for name in sorted(names) if not exists(name)] == []


def test_a_name_that_does_not_exist_is_found():
    assert exists("ricci.numpy.linalg.norm")
    assert not exists("ricci.buckets")


@EVERY_PAGE
def test_variables_of_the_environment_are_options_or_read(page):
    sources = [file for folder in SOURCES for file in ROOT.glob(folder)]
    named = set(re.findall(r"\bRICCI_[A-Z_]+\b", page.read_text(encoding="utf-8")))
    unknown = {name for name in named if not hasattr(ricci.config, f"jax_{name[6:].lower()}")}
    for source in sources if unknown else ():
        text = source.read_text(encoding="utf-8")
        unknown = {name for name in unknown if name not in text}
    assert unknown == set()
