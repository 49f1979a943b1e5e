"""Drawings of shardings."""

import sys

import numpy as np
import pytest

from ricci_parallel import device_put, visualize_array_sharding, visualize_sharding
from ricci_xla import AbstractMesh, Mesh, NamedSharding, P, devices, jit, single_device_sharding

pytest.importorskip("rich", reason="rich draws; it is an extra")
from rich.console import Console

GRID_2_BY_2 = """\
┌───────────────────────┬───────────────────────┐
│                       │                       │
│         CPU 0         │         CPU 1         │
│                       │                       │
│                       │                       │
├───────────────────────┼───────────────────────┤
│                       │                       │
│         CPU 2         │         CPU 3         │
│                       │                       │
│                       │                       │
└───────────────────────┴───────────────────────┘
"""


def grid(*spec: str | None) -> NamedSharding:
    return NamedSharding(Mesh(np.array(devices()[:4]).reshape(2, 2), ("a", "b")), P(*spec))


def test_two_dimensions(capsys):
    visualize_sharding((8, 16), grid("a", "b"))
    assert capsys.readouterr().out == GRID_2_BY_2


def test_array_outside_and_inside_of_jit(capsys):
    x = device_put(np.ones((8, 16), np.float32), grid("a", "b"))
    visualize_array_sharding(x)
    assert capsys.readouterr().out == GRID_2_BY_2
    f = jit(lambda x: (visualize_array_sharding(x), x)[1])
    f(x)
    assert capsys.readouterr().out == GRID_2_BY_2
    f(x)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("shape", "spec", "text"),
    [
        ((4,), ("b",), "│CPU 0,2│CPU 1,3│"),
        ((4,), (("b", "a"),), "│ CPU 0 │ CPU 2 │ CPU 1 │ CPU 3 │"),
        ((4, 0), ("a",), "CPU 2,3"),
        ((4,), (), "│CPU 0,1,2,3│"),
    ],
)
def test_devices_of_each_part(shape, spec, text, capsys):
    visualize_sharding(shape, grid(*spec))
    assert text in capsys.readouterr().out


def test_colors_and_notebooks(monkeypatch, capsys):
    asked = []

    def red(place):
        asked.append(float(place))
        return 1.0, 0.0, 0.0, 1.0

    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLORTERM", "truecolor")
    visualize_sharding((4,), grid(("a", "b")), color_map=red)
    assert "48;2;255;0;0m" in capsys.readouterr().out
    assert sorted(asked) == pytest.approx([0, 1 / 3, 2 / 3, 1])
    visualize_sharding((4,), grid(("a", "b")), use_color=False)
    assert "48;2" not in capsys.readouterr().out
    shown = []
    monkeypatch.setattr("rich.jupyter.display", lambda segments, text: shown.append(text))
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    assert Console().is_jupyter
    visualize_sharding((4,), grid(("a", "b")))
    assert "CPU 3" in shown[0]


@pytest.mark.parametrize(
    ("shape", "sharding", "text"),
    [
        ((2, 2, 2), grid("a"), r"one or two dimensions.*\(2, 2, 2\)"),
        ((), grid(), r"shape is \(\)"),
        ((4,), NamedSharding(AbstractMesh((2,), ("x",)), P("x")), "without devices"),
    ],
)
def test_mistakes_are_explained(shape, sharding, text):
    with pytest.raises(ValueError, match=text):
        visualize_sharding(shape, sharding)


def test_missing_rich_is_explained(monkeypatch, capsys):
    here = single_device_sharding(devices()[0])
    monkeypatch.setitem(sys.modules, "rich.console", None)
    with pytest.raises(ValueError, match=r"pip install 'ricci-parallel\[rich\]'"):
        visualize_sharding((4,), here)
    monkeypatch.undo()
    visualize_sharding((4,), here)
    assert "CPU 0" in capsys.readouterr().out
