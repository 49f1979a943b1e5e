"""The drawings of the site, as SVG within its pages, in the colours of the page."""

import tomllib
from collections.abc import Iterable
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
FILES = {"pyproject.toml", "docs/_ext/drawings.py"}
_WIDE = 860
_HEIGHT = 34
_GAP = 46
_LETTER = 7.8


def _svg(width: float, height: float, title: str, parts: Iterable[str], kind: str = "") -> str:
    shown = f'class="{kind}" ' if kind else ""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'{shown}role="img" aria-label="{escape(title)}">'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>'
    )
    return head + "".join(parts) + "</svg>"


def _box(x: float, y: float, width: float, lines: list[str], kind: str = "") -> str:
    height = _HEIGHT + 18 * (len(lines) - 1)
    texts = "".join(
        f'<text class="{"small" if i else "name"}" x="{x + width / 2:.1f}" '
        f'y="{y + 22 + 18 * i:.1f}">{escape(line)}</text>'
        for i, line in enumerate(lines)
    )
    frame = f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height}" rx="6"/>'
    return f'<g class="box {kind}">{frame}{texts}</g>'


def _arrow(x1: float, y1: float, x2: float, y2: float, kind: str = "") -> str:
    middle = (y1 + y2) / 2
    path = f"M{x1:.1f} {y1:.1f}C{x1:.1f} {middle:.1f} {x2:.1f} {middle:.1f} {x2:.1f} {y2:.1f}"
    return f'<path class="arrow {kind}" d="{path}" marker-end="url(#tip)"/>'


def _layers() -> list[list[str]]:
    """The layers of packages, lowest last, as the contract of import-linter has them."""
    root = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = root["tool"]["importlinter"]["contracts"][0]["layers"]
    return [[name.strip().removeprefix("ricci_") for name in layer.split("|")] for layer in layers]


def _needs(package: str) -> set[str]:
    """The packages that a package declares to need."""
    file = ROOT / "packages" / package / "pyproject.toml"
    project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
    names = (need.partition("==")[0].partition("[")[0] for need in project["dependencies"])
    return {n.removeprefix("ricci-") for n in names if n == "ricci" or n.startswith("ricci-")}


def _direct(needs: dict[str, set[str]]) -> list[tuple[str, str]]:
    """The arrows that do not follow from others."""

    def below(package: str) -> set[str]:
        return needs[package].union(*map(below, needs[package]))

    arrows = []
    for package, mine in needs.items():
        implied = set().union(*map(below, mine))
        arrows += [(package, other) for other in sorted(mine - implied)]
    return arrows


def packages() -> str:
    """Return the drawing of the packages: each stands on those that it needs."""
    layers = _layers()
    places: dict[str, tuple[float, float, float]] = {}
    for row, layer in enumerate(layers):
        widths = [max(52, 18 + _LETTER * len(name)) for name in layer]
        free = (_WIDE - sum(widths)) / (len(layer) + 1)
        x = free
        for name, width in zip(layer, widths, strict=True):
            places[name] = (x, 10 + row * (_HEIGHT + _GAP), width)
            x += width + free
    parts = []
    for upper, lower in _direct({name: _needs(name) for name in places}):
        (x1, y1, w1), (x2, y2, w2) = places[upper], places[lower]
        parts.append(_arrow(x1 + w1 / 2, y1 + _HEIGHT, x2 + w2 / 2, y2 - 1))
    for name, (x, y, width) in places.items():
        parts.append(_box(x, y, width, [name], "ours" if name in ("ricci", "jax") else ""))
    height = len(layers) * (_HEIGHT + _GAP) - _GAP + 20
    return _svg(_WIDE, height, "The packages and what each needs", parts)


_CALL = (
    ("jit(grad(f))(x)", "the first call with these types", "xla: calls"),
    ("flatten", "the arguments become leaves, these types", "pytree"),
    ("trace", "f runs on tracers; each operation is recorded", "ir: programs"),
    ("linearize", "each jvp rule runs; what has a tangent is on the tape", "autodiff"),
    ("transpose", "the tape is read backwards: the program of the gradient", "autodiff"),
    ("lower", "each equation writes its operations as StableHLO text", "stablehlo"),
    ("compile", "XLA makes an executable of the text", "xla: compile"),
    ("run", "later calls with these types begin here, in C++", "xla: calls"),
)


def call() -> str:
    """Return the drawing of the way of one call through the packages."""
    step = 66
    parts = []
    for row, (name, words, place) in enumerate(_CALL):
        y = 10 + row * step
        parts.append(_box(10, y, 170, [name], "ours" if row in (0, len(_CALL) - 1) else ""))
        parts.append(f'<text class="left" x="200" y="{y + 15}">{escape(words)}</text>')
        parts.append(f'<text class="left small" x="200" y="{y + 33}">{escape(place)}</text>')
        if row:
            parts.append(_arrow(95, y - step + _HEIGHT, 95, y - 1))
    return _svg(700, len(_CALL) * step, "The way of a call through the packages", parts)


_FORMS = (
    ("grad(f)", "its derivative", "f32[] → f32[]"),
    ("vmap(f)", "a batch at once", "f32[n] → f32[n]"),
    ("jit(f)", "compiled", "one program"),
    ("shard_map(f)", "on many devices", "a part on each"),
)


def transformations() -> str:
    """Return the drawing of the home page: one function, and what it is turned into.

    It is drawn twice, for wide pages and for phones; the style sheet shows one.
    """
    narrow = _transformations(360, 2, "narrow").replace('"tip"', '"narrow-tip"')
    return _transformations(720, 4, "wide") + narrow.replace("#tip", "#narrow-tip")


def _transformations(page: int, columns: int, kind: str) -> str:
    """Draw the function, its forms in rows of so many columns, and what they make together."""
    gap, row_height = 18, _HEIGHT + 36 + 20
    width = (page - 20 - (columns - 1) * gap) / columns
    middle, y = page / 2, 128
    centers = [10 + column * (width + gap) + width / 2 for column in range(columns)]
    parts = [_box(middle - 120, 10, 240, ["f(x) = x * jnp.sin(x)", "f32[] → f32[]"], "ours")]
    parts += [_arrow(middle, 62, x, y - 1) for x in centers]
    for i, form in enumerate(_FORMS):
        row, column = divmod(i, columns)
        parts.append(_box(centers[column] - width / 2, y + row * row_height, width, list(form)))
    last = y + (len(_FORMS) // columns - 1) * row_height + _HEIGHT + 36
    both = ["jit(vmap(grad(f)))", "in any order and depth"]
    parts.append(_box(middle - 160, last + 60, 320, both, "ours"))
    # Of the forms in the last row, those that are a part of it.
    parts += [_arrow(x, last, middle, last + 59) for x in centers[: 3 - len(_FORMS) + columns]]
    title = "One function, its derivative, batched and compiled form"
    return _svg(page, last + 124, title, parts, kind)
