"""The metadata of the packages: equal fields, and those of each package."""

import sys
import tomllib
from pathlib import Path

import pytest
from trove_classifiers import classifiers, deprecated_classifiers

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from package_metadata import CLASSIFIERS, SHARED_KEYWORDS, with_metadata  # noqa: E402
from workspace import PACKAGES, settings  # noqa: E402

EVERY_PACKAGE = pytest.mark.parametrize("package", PACKAGES)


@EVERY_PACKAGE
def test_a_package_has_the_shared_metadata(package: str) -> None:
    text = (ROOT / "packages" / package / "pyproject.toml").read_text()
    assert with_metadata(text) == text, "run python3 tools/package_metadata.py"


@EVERY_PACKAGE
def test_every_package_has_distinct_keywords(package: str) -> None:
    keywords = settings(package)["project"]["keywords"]
    assert len(set(keywords)) == len(keywords) > len(SHARED_KEYWORDS)


def test_summaries_are_short_and_differ() -> None:
    summaries = [settings(package)["project"]["description"] for package in PACKAGES]
    assert len(set(summaries)) == len(summaries)
    assert max(map(len, summaries)) <= 100


def test_classifiers_are_those_of_the_index() -> None:
    assert set(CLASSIFIERS) <= classifiers - set(deprecated_classifiers)
    assert list(CLASSIFIERS) == sorted(set(CLASSIFIERS))


def test_the_oldest_python_is_the_one_required() -> None:
    pythons = [c.rpartition(" ")[2] for c in CLASSIFIERS if " :: Python :: 3." in c]
    assert {settings(p)["project"]["requires-python"] for p in PACKAGES} == {f">={pythons[0]}"}


@EVERY_PACKAGE
def test_no_address_is_made_up(package: str) -> None:
    """The project has no home on the net yet: docs/releases.md."""
    assert "urls" not in settings(package)["project"]


def test_own_keywords_stay_and_shared_metadata_is_written_anew() -> None:
    text = (
        '[project]\nrequires-python = ">=3.12"\nkeywords = ["own", "ricci"]\n'
        'classifiers = [\n  "Framework :: Django",\n]\ndependencies = []\n'
    )
    project = tomllib.loads(with_metadata(text))["project"]
    assert project["keywords"] == ["own", *SHARED_KEYWORDS]
    assert project["classifiers"] == list(CLASSIFIERS)
    assert project["dependencies"] == []
    with pytest.raises(ValueError, match="requires-python"):
        with_metadata("[project]\n")
