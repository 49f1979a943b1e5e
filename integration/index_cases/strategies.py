"""Hypothesis strategies for cases: every kind of index part, every method, in and out of bounds.

A case is built from one random source that hypothesis draws, so that cases are many and different
rather than small.
"""

from random import Random
from typing import Any

import numpy as np
from hypothesis import strategies as st

from .case import METHODS, Case, Part, numbers

SHAPES = ((), (4,), (1,), (0,), (3, 4), (2, 5), (3, 1), (0, 3), (2, 3, 4), (3, 3, 2), (2, 1, 3, 2))
COMMON = ((), (2,), (3,), (1,), (2, 3), (2, 1, 3), (0,))
DTYPES = ("float32",) * 5 + ("int32", "bool", "complex64", "int8", "uint8", "bfloat16")
INDEX_DTYPES = ("int32",) * 5 + ("int64", "int8", "uint8", "int16", "uint32")
STEPS = (None, 1, 2, 3, -1, -2, -7)
NO_INDEX = (
    "1.5 'a' [0] [True,False] (0,1) ... object() 1j {0} b'a' 0,0,0,0,0 slice(0,1,0) "
    "np.float32(1) np.zeros(2) np.ones((7,7),bool) np.arange(3),np.arange(2) jnp.arange(2.) "
    "jnp.int32(1) slice(0.5,1) np.str_('a') np.array(['a']) np.array([None]) np.zeros((0,)) "
    "np.datetime64('2020') range(2)"
).split()
# The kinds of parts in each family of indices.
FAMILIES = {
    "basic": ("int", "slice", "slice", "operand"),
    "arrays": ("int", "slice", "array", "array", "array", "operand"),
    "masks": ("int", "slice", "mask", "mask", "array of mask"),
}
_NEW = Part(None, "None", None)
_DOTS = Part(Ellipsis, "...", Ellipsis)
_ALL = Part(slice(None), ":", slice(None))


def cases(in_bounds: bool | None = None) -> st.SearchStrategy[Case]:
    """Cases without errors: for positions in bounds, or half of them with some outside."""
    return st.randoms(use_true_random=True).map(lambda random: _case(random, in_bounds))


def broken_cases() -> st.SearchStrategy[Case]:
    """Cases with a part that is not an index, does not fit, or is one too many."""
    return st.randoms(use_true_random=True).map(_broken_case)


def _case(random: Random, in_bounds: bool | None) -> Case:
    inside = random.random() < 0.5 if in_bounds is None else in_bounds
    shape = random.choice(SHAPES)
    parts = _index(random, shape, inside)
    method = random.choice(METHODS)
    dtype = random.choice(DTYPES)
    selected = np.zeros(shape)[tuple(part.safe for part in parts)].shape
    options = _options(random, method, parts, inside, dtype)
    value = None
    if method not in ("getitem", "get", "apply"):
        value = _value(random, selected, dtype)
    return Case(shape, dtype, parts, method, value, options, inside)


def _broken_case(random: Random) -> Case:
    shape = random.choice(SHAPES)
    parts = list(_index(random, shape, True))
    parts.insert(random.randint(0, len(parts)), Part(None, random.choice(NO_INDEX), None))
    method = random.choice(METHODS)
    value = 1 if method not in ("getitem", "get", "apply") else None
    return Case(shape, "float32", tuple(parts), method, value)


def _index(random: Random, shape: tuple[int, ...], inside: bool) -> tuple[Part, ...]:
    family = random.choice(("basic", "arrays", "arrays", "masks"))
    common = random.choice(COMMON)
    count = random.randint(0, 3)  # how many elements each mask selects
    scalar_mask = family == "masks" and count < 2 and random.random() < 0.3
    parts: list[Part] = []
    stop = random.randint(0, 2 * len(shape))  # from there an ellipsis, or nothing, stands for some
    axis = 0
    while axis < len(shape):
        if random.random() < 0.15:
            parts.append(_NEW)
        # Behind a new axis JAX takes a scalar mask for another dimension.
        if scalar_mask and all(part is not _NEW for part in parts) and random.random() < 0.5:
            scalar_mask = False
            parts.append(Part(bool(count), repr(bool(count)), bool(count)))
        if axis == stop:
            stop = -1
            if random.random() < 0.5:
                break
            parts.append(_DOTS)
            axis += random.randint(0, len(shape) - axis)
            continue
        kind = random.choice(FAMILIES[family])
        part, width = _part(random, kind, shape[axis:], common, count, inside)
        parts.append(part)
        axis += width
    if random.random() < 0.15:
        parts.append(_NEW)
    return tuple(parts)


def _part(
    random: Random,
    kind: str,
    shape: tuple[int, ...],
    common: tuple[int, ...],
    count: int,
    inside: bool,
) -> tuple[Part, int]:
    """A part for the first of the dimensions left, and for how many of them it is."""
    size = shape[0]
    if kind == "mask":
        width = random.randint(1, min(2, len(shape)))
        mask = _mask(random, shape[:width], count)
        return (mask, width) if mask else (_ALL, 1)
    if kind == "slice":
        return _slice(random, size), 1
    if kind == "int":
        return (_int(random, size, inside) if size else _ALL), 1
    wanted = {"array": _within(random, common), "array of mask": (count,), "operand": ()}[kind]
    return _positions(random, wanted, size, inside), 1


def _int(random: Random, size: int, inside: bool) -> Part:
    low, high = (-size, size - 1) if inside else (-2 * size - 2, 2 * size)
    value = random.randint(low, high)
    text = random.choice(("{}", "{}", "np.int64({})", "np.int8({})")).format(value)
    return Part(value, text, value % size)


def _slice(random: Random, size: int) -> Part:
    if random.random() < 0.3:
        return _ALL
    start, stop = (
        None if random.random() < 0.3 else random.randint(-size - 2, size + 2) for _ in "ab"
    )
    index = slice(start, stop, random.choice(STEPS))
    shown = ["" if end is None else str(end) for end in (index.start, index.stop, index.step)]
    return Part(index, ":".join(shown), index)


def _within(random: Random, common: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that broadcasts to the common one."""
    shape = tuple(1 if random.random() < 0.25 else n for n in common)
    return shape[random.randint(0, len(shape)) if random.random() < 0.3 else 0 :]


def _positions(random: Random, shape: tuple[int, ...], size: int, inside: bool) -> Part:
    """An integer array, an operand or part of the text; empty where there is nothing to select."""
    if not size and 0 not in shape:
        return _ALL
    dtype = np.dtype(random.choice(INDEX_DTYPES))
    low, high = (-size, size) if inside else (-2 * size - 2, 2 * size + 2)
    low = 0 if dtype.kind == "u" else low
    generator = np.random.default_rng(random.getrandbits(32))
    values = generator.integers(low, max(high, low + 1), shape).astype(dtype)
    safe = values % dtype.type(size) if size else values
    if random.random() < 0.5:
        return Part(values, None, safe)
    return Part(values, f"np.array({values.tolist()},'{dtype.name}')", safe)


def _mask(random: Random, shape: tuple[int, ...], count: int) -> Part | None:
    """A mask with that many elements, if the shape has as many."""
    size = int(np.prod(shape))
    if size < count:
        return None
    mask = np.zeros(size, bool)
    mask[random.sample(range(size), count)] = True
    mask = mask.reshape(shape)
    text = f"np.zeros({shape},bool)" if 0 in shape else f"np.array({mask.tolist()},bool)"
    return Part(mask, text, mask)


def _options(
    random: Random, method: str, parts: tuple[Part, ...], inside: bool, dtype: str
) -> dict[str, Any]:
    if method == "getitem" or random.random() < 0.4:
        return {}
    options: dict[str, Any] = {}
    modes = (None, "fill", "drop", "clip", *(["promise_in_bounds"] if inside else []))
    mode = random.choice(modes)
    if mode is not None:
        options["mode"] = mode
    if method == "get" and random.random() < 0.5:
        options["fill_value"] = random.choice((0, 1) if dtype == "bool" else (0, 3, 5))
    # Without wrapping, negative positions are out of bounds, and nothing may be promised of them.
    if random.random() < 0.2 and mode != "promise_in_bounds":
        options["wrap_negative_indices"] = False
    arrays = any(isinstance(part.value, np.ndarray | bool) for part in parts)
    if inside and not arrays:
        for name in ("indices_are_sorted", "unique_indices"):
            if random.random() < 0.3:
                options[name] = True
    return options


def _value(random: Random, selected: tuple[int, ...], dtype: str) -> Any:
    kind = random.choice(("whole", "part", "scalar", "other"))
    if kind == "scalar":
        return True if dtype == "bool" else 2
    shape = selected if kind == "whole" else _within(random, selected)
    if kind == "other" and dtype not in ("bool", "uint8"):
        return numbers(shape, "int8")
    return numbers(shape, dtype)
