"""The tutorials' form, and the cells of the quickest. `nox -s docs` runs all of them."""

import re
import types
from pathlib import Path

import pytest

TUTORIALS = Path(__file__).parents[2] / "docs" / "tutorials"
PAGES = sorted(TUTORIALS.glob("[0-9]*.md"))
CELL = re.compile(r"^```\{code-cell\} ipython3\n(?:---\n(.*?)^---\n)?(.*?)^```$", re.M | re.S)


def cells(page):
    """The cells' options and code, the code on the lines that it has in the page."""
    text = page.read_text(encoding="utf-8")
    for found in CELL.finditer(text):
        yield found[1] or "", "\n" * text[: found.start(2)].count("\n") + found[2]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_cells_are_python_and_each_exercise_has_a_folded_solution(page):
    text = page.read_text(encoding="utf-8")
    found = list(cells(page))
    assert len(found) == text.count("{code-cell}") > 5
    for _, code in found:
        compile(code, page.name, "exec")
    exercises = re.findall(r"^(\d)\. ", text.partition("## Exercises")[2], re.M)
    folded = [re.findall(r'code_prompt_show: "Exercise (\d)', options) for options, _ in found]
    assert sum(folded, []) == exercises
    assert len(exercises) in (2, 3)
    assert "## What next" in text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_picture_has_a_text_for_who_cannot_see_it(page):
    for options, code in cells(page):
        assert ("plt.show()" in code) == ("alt:" in options)


def test_the_index_names_every_page():
    index = (TUTORIALS / "index.md").read_text(encoding="utf-8")
    assert [page.name for page in PAGES if f"({page.name})" not in index] == []
    assert len(PAGES) == 9


def test_cells_of_the_first_page_run():
    pytest.importorskip("ricci", reason="tutorials are for the full install")
    page = types.ModuleType("first_page")
    for _, code in cells(PAGES[0]):
        exec(compile(code, str(PAGES[0]), "exec"), vars(page))
    assert page.calls == 1
