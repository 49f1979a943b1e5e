"""The legend of the tables of cases, README.md, describes their code correctly."""

from pathlib import Path

from example_cases.checking import run

HERE = Path(__file__).parents[1]


def test_the_legend_is_true():
    run((HERE / "README.md").read_text().replace("```", ""), "legend", {})


def test_every_folder_is_in_the_table():
    text = (HERE / "README.md").read_text()
    folders = {path.name for path in HERE.iterdir() if path.is_dir()} - {"data", "__pycache__"}
    assert {name for name in folders if f"`{name}`" not in text} == set()
