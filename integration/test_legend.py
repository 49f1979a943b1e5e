"""The legend of the tables of cases, README.md, says what their code does."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE)]

from example_cases.checking import run  # noqa: E402


def test_the_legend_is_true():
    run((HERE / "README.md").read_text().replace("```", ""), "legend", {})
