"""The laws that every primitive must obey, each a function that raises ``AssertionError``.

They run on whatever backend is set; ``ricci_reference`` computes in double precision without a
compiler, so derivatives are checked there.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ricci_autodiff import jvp, jvp_rules, transpose_rules, vjp
from ricci_batching import batch_rules, vmap
from ricci_ir import (
    Jaxpr,
    Primitive,
    check_jaxpr,
    enable_x64,
    float0,
    get_aval,
    issubdtype,
    trace_to_jaxpr,
    unsupported,
)
from ricci_stablehlo import lower_jaxpr

from ._check_grads import assert_close, check_jvp, check_vjp, directions, is_inexact
from ._example import Example

_BATCH = 2

# How far results may be apart that were computed in another order, by dtype.
_ROUNDING = {
    "float64": 1e-12,
    "complex128": 1e-12,
    "float32": 2e-5,
    "complex64": 2e-5,
    "float16": 1e-2,
    "bfloat16": 6e-2,
}


def assert_results_close(found: Any, expected: Any, what: str, factor: float = 1.0) -> None:
    """Results of one dtype are equal up to rounding; discrete ones exactly.

    Args:
      found, expected: NumPy arrays.
      what: names the result in the message.
      factor: by how much more than usual they may differ.

    Raises:
      AssertionError: if they differ by more, or in dtype.
    """
    name = np.asarray(expected).dtype.name
    tolerance = factor * _ROUNDING.get(name, 0.0)
    if found.dtype != expected.dtype:
        raise AssertionError(f"{what}: dtype {found.dtype}, expected {expected.dtype}")
    finite = np.abs(np.nan_to_num(_magnitudes(expected), posinf=0.0))
    scale = float(np.max(finite, initial=0.0))
    assert_close(found, expected, tolerance * scale, tolerance, what)


def _magnitudes(x: Any) -> np.ndarray:
    x = np.asarray(x)
    return np.abs(
        x.astype(np.complex128 if issubdtype(x.dtype, np.complexfloating) else np.float64)
    )


def _explained(rule: Any, fun: Callable[[], Any], what: str) -> bool:
    """Whether a rule is ``unsupported``; using it then must raise, with its reason."""
    if not isinstance(rule, unsupported):
        return False
    try:
        fun()
    except NotImplementedError as error:
        if rule.reason not in str(error):
            raise AssertionError(f"{what} must say {rule.reason!r}, but says: {error}") from error
        return True
    raise AssertionError(f"{what} is unsupported ({rule.reason}), but using it raised nothing")


def check_abstract_type(primitive: Primitive, example: Example) -> None:
    """The abstract type equals the type that is computed.

    Raises:
      AssertionError: if it does not.
    """
    avals = tuple(map(get_aval, example.args))
    abstract = primitive.result_avals(avals, example.params)
    expected = abstract if primitive.multiple_results else [abstract]
    results = example.bind(primitive, *example.args)
    if len(results) != len(expected):
        raise AssertionError(f"{len(results)} results were computed, {len(expected)} expected")
    for i, (result, aval) in enumerate(zip(results, expected, strict=True)):
        value = np.asarray(result)
        if get_aval(result) is not aval or (value.shape, value.dtype) != (aval.shape, aval.dtype):
            raise AssertionError(
                f"result {i} has type {get_aval(result)} and values {value.dtype}"
                f"{list(value.shape)}, but the abstract type is {aval}"
            )


def _is_single_precision(example: Example) -> bool:
    dtypes: list[Any] = [get_aval(x).dtype for x in example.args if is_inexact(x)]  # pyright: ignore
    return bool(dtypes) and all(d.name in ("float32", "complex64") for d in dtypes)


def _differentiated(example: Example) -> Iterator[tuple[int, ...]]:
    """Which operands to differentiate by: all that can be, and each alone."""
    places = tuple(example.differentiable())
    yield places
    if len(places) > 1:
        yield from ((i,) for i in places)


def _of_operands(
    primitive: Primitive, example: Example, places: Sequence[int]
) -> tuple[Callable[..., list[Any]], list[Any]]:
    """The primitive as a function of some operands, and these."""

    def fun(*xs: Any) -> list[Any]:
        args = list(example.args)
        for i, x in zip(places, xs, strict=True):
            args[i] = x
        return example.bind(primitive, *args)

    return fun, [example.args[i] for i in places]


def check_derivatives(primitive: Primitive, example: Example) -> None:
    """The jvp equals finite differences; the vjp its transpose; the jvp of the vjp, too.

    In double precision, by all operands together and by each alone.

    Raises:
      AssertionError: if one does not.
    """
    if not _is_single_precision(example):
        return
    fun, primals = _of_operands(primitive, example, next(_differentiated(example)))
    tangents = tuple(directions(primals, 0))
    push = lambda: jvp(fun, tuple(primals), tangents)
    if _explained(jvp_rules[primitive], push, f"the jvp of {primitive.name}"):
        return
    if not example.smooth or not primals:
        return
    with enable_x64(True):
        example = example.in_double()
        for places in _differentiated(example):
            fun, primals = _of_operands(primitive, example, places)
            where = f"by operands {places}: "
            if "fwd" in example.modes:
                check_jvp(fun, primals, where=f"{where}jvp")
            if "rev" in example.modes:
                check_vjp(fun, primals, where=f"{where}vjp")
                if example.order > 1:
                    check_jvp(_pulled_back(fun, primals), primals, where=f"{where}jvp of vjp")


def _pulled_back(fun: Callable[..., list], primals: Sequence[Any]) -> Callable[..., list]:
    """The vjp at fixed cotangents, as a function of the primals."""
    results = fun(*primals)
    real = iter(directions([r for r in results if is_inexact(r)], 5))
    cts = [next(real) if is_inexact(r) else np.zeros(np.shape(r), float0) for r in results]
    return lambda *xs: list(vjp(fun, *xs)[1](cts))


def check_batching(primitive: Primitive, example: Example) -> None:
    """``vmap`` equals the loop: by all operands, by each alone, at the first and the last axis.

    Raises:
      AssertionError: if it does not.
    """
    count = len(example.args)
    if not count:
        return
    batches = [
        [x] * _BATCH if i in example.fixed else _varied(x) for i, x in enumerate(example.args)
    ]
    fun = lambda *xs: example.bind(primitive, *xs)
    if _explained(
        batch_rules[primitive],
        lambda: vmap(fun)(*map(np.stack, batches)),
        f"the batching of {primitive.name}",
    ):
        return
    for mapped in _subsets(count):
        chosen = [
            [batches[i][k] if i in mapped else example.args[i] for i in range(count)]
            for k in range(_BATCH)
        ]
        expected = [fun(*args) for args in chosen]
        for axes in _axes(mapped, count):
            stacked = [
                x if axis is None else np.stack(batches[i], axis)
                for i, (x, axis) in enumerate(zip(example.args, axes, strict=True))
            ]
            results = vmap(fun, in_axes=tuple(axes))(*stacked)
            for i, result in enumerate(results):
                what = f"vmap with in_axes={tuple(axes)}, result {i}"
                looped = np.stack([np.asarray(r[i]) for r in expected])
                assert_results_close(np.asarray(result), looped, what)


def _subsets(count: int) -> list[tuple[int, ...]]:
    """All operands, and each alone; of many, the first and the last alone."""
    if count == 1:
        return [(0,)]
    alone = range(count) if count <= 5 else (0, count - 1)
    return [tuple(range(count)), *((i,) for i in alone)]


def _axes(mapped: Sequence[int], count: int) -> Iterator[list[int | None]]:
    """The mapped operands' axes: the first of all; of one the last, of the next the first."""
    patterns = [(0, 0), (-1, 0)] if len(mapped) == 1 else [(0, 0), (-1, 0), (0, -1)]
    for pattern in patterns:
        axes: list[int | None] = [None] * count
        for k, i in enumerate(mapped):
            axes[i] = pattern[k % 2]
        yield axes


def _varied(x: Any) -> list[np.ndarray]:
    """Arrays like an example's operand, within its range of values: turned, or scaled."""
    x = np.asarray(x)
    versions = []
    for k in range(_BATCH):
        turned = np.roll(x.reshape(-1), k).reshape(x.shape)
        if x.size == 1 and k and is_inexact(x):
            turned = (turned * np.asarray(1 - 0.125 * k).astype(x.dtype)).astype(x.dtype)
        versions.append(turned)
    return versions


def programs(primitive: Primitive, example: Example) -> Iterator[tuple[str, Jaxpr]]:
    """The primitive's program, its jvp, its vjp and its batched form, as far as they exist."""
    avals: list[Any] = list(map(get_aval, example.args))
    fun = lambda *xs: example.bind(primitive, *xs)
    plain = trace_to_jaxpr(fun, avals)
    yield "program", plain
    places = example.differentiable()
    if places and example.smooth and not isinstance(jvp_rules[primitive], unsupported):
        yield from _derivative_programs(primitive, example, places, plain.out_avals)
    if avals and not isinstance(batch_rules[primitive], unsupported):
        batched = [a.update(shape=(_BATCH, *a.shape)) for a in avals]
        yield "vmap", trace_to_jaxpr(lambda *xs: vmap(fun)(*xs), batched)


def _derivative_programs(
    primitive: Primitive, example: Example, places: Sequence[int], results: Sequence[Any]
) -> Iterator[tuple[str, Jaxpr]]:
    fun, primals = _of_operands(primitive, example, places)
    avals: list[Any] = list(map(get_aval, primals))
    count = len(avals)
    smooth = [issubdtype(r.dtype, np.inexact) for r in results]

    def push(*xs: Any) -> list[Any]:
        values, pushed = jvp(fun, xs[:count], xs[count:])
        return [*values, *(t for t, inexact in zip(pushed, smooth, strict=True) if inexact)]

    def pull(*xs: Any) -> list[Any]:
        given = iter(xs[count:])
        cts = [
            next(given) if inexact else np.zeros(r.shape, float0)
            for r, inexact in zip(results, smooth, strict=True)
        ]
        return list(vjp(fun, *xs[:count])[1](cts))

    if "fwd" in example.modes:
        yield "jvp", trace_to_jaxpr(push, [*avals, *avals])
    if "rev" in example.modes and not isinstance(transpose_rules[primitive], unsupported):
        cotangents = [r for r, inexact in zip(results, smooth, strict=True) if inexact]
        yield "vjp", trace_to_jaxpr(pull, [*avals, *cotangents])


def check_programs(primitive: Primitive, example: Example) -> list[tuple[str, str]]:
    """The programs of a primitive are well-formed jaxprs; returns their StableHLO by name.

    Raises:
      AssertionError: if one is not.
    """
    texts = []
    for name, jaxpr in programs(primitive, example):
        try:
            check_jaxpr(jaxpr)
        except TypeError as error:
            raise AssertionError(f"{name}: {error}") from error
        texts.append((name, lower_jaxpr(jaxpr, name)))
    return texts
