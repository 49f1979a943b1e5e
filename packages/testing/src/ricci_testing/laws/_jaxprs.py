"""The laws of jaxprs and StableHLO: well-formed, and equal to the reference when compiled."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_autodiff import jvp, jvp_rules, vjp
from ricci_batching import batch_rules, vmap
from ricci_stablehlo import lower_jaxpr
from ricci_testing.examples._example import Example
from ricci_testing.examples._variants import exempt

from ._batching import batched_avals, batched_operands
from ._derivatives import has_transpose, pulled_back, pushed_forward
from ._types import assert_results_close, function_of_operands, in_example_precision


def programs(primitive: ir.Primitive, example: Example) -> Iterator[tuple[str, ir.Jaxpr]]:
    """Trace the primitive, its jvp, its vjp and its batched form, if they exist."""
    avals: list[Any] = list(map(ir.get_aval, example.args))
    fun = lambda *xs: example.bind(primitive, *xs)
    plain = ir.trace_to_jaxpr(fun, avals)
    yield "program", plain
    places = example.differentiable()
    if places and example.smooth and not isinstance(jvp_rules[primitive], ir.unsupported):
        yield from _derivative_jaxprs(primitive, example, places, plain.out_avals)
    if avals and not isinstance(batch_rules[primitive], ir.unsupported):
        yield "vmap", ir.trace_to_jaxpr(lambda *xs: vmap(fun)(*xs), batched_avals(example))


def _derivative_jaxprs(
    primitive: ir.Primitive, example: Example, places: Sequence[int], results: Sequence[Any]
) -> Iterator[tuple[str, ir.Jaxpr]]:
    fun, primals = function_of_operands(primitive, example, places)
    avals: list[Any] = list(map(ir.get_aval, primals))
    count = len(avals)
    # Results of integers have tangents of dtype float0, without values: they are left out.
    smooth = [ir.issubdtype(r.dtype, np.inexact) for r in results]

    def push(*xs: ir.ArrayLike) -> list[ir.Array]:
        values, pushed = jvp(fun, xs[:count], xs[count:])
        return [*values, *(t for t, inexact in zip(pushed, smooth, strict=True) if inexact)]

    def pull(*xs: ir.ArrayLike) -> list[ir.Array]:
        cotangents = iter(xs[count:])
        cts = [
            next(cotangents) if inexact else np.zeros(r.shape, ir.float0)
            for r, inexact in zip(results, smooth, strict=True)
        ]
        return list(vjp(fun, *xs[:count])[1](cts))

    if "fwd" in example.modes:
        yield "jvp", ir.trace_to_jaxpr(push, [*avals, *avals])
    if "rev" in example.modes and has_transpose(primitive):
        cotangents = [r for r, inexact in zip(results, smooth, strict=True) if inexact]
        yield "vjp", ir.trace_to_jaxpr(pull, [*avals, *cotangents])


@in_example_precision
def check_programs(primitive: ir.Primitive, example: Example) -> list[tuple[str, str]]:
    """Check that the jaxprs of a primitive are well formed, and return their StableHLO by name.

    Args:
      primitive: the primitive.
      example: operands and parameters of it.

    Returns:
      Pairs of a name and the text of the module.

    Raises:
      AssertionError: if one is not.

    Example:
      >>> import numpy as np
      >>> from ricci import lax
      >>> from ricci_testing import Example, check_programs
      >>> programs = check_programs(lax.sin_p, Example((np.float32([0.5, 2.0]),)))
      >>> [name for name, text in programs][:2]
      ['program', 'jvp']
    """
    texts = []
    for name, jaxpr in programs(primitive, example):
        try:
            ir.check_jaxpr(jaxpr)
        except TypeError as error:
            raise AssertionError(f"{name}: {error}") from error
        texts.append((name, lower_jaxpr(jaxpr, name)))
    return texts


def check_well_formed(primitive: ir.Primitive, example: Example) -> None:
    """Check that the jaxprs of a primitive are well formed and lower to StableHLO.

    Args:
      primitive: the primitive.
      example: operands and parameters of it.

    Raises:
      AssertionError: if one is not.

    Example:
      >>> import numpy as np
      >>> from ricci import lax
      >>> from ricci_testing import Example, check_well_formed
      >>> check_well_formed(lax.sin_p, Example((np.float32([0.5, 2.0]),)))
    """
    check_programs(primitive, example)


def check_compiled(
    primitive: ir.Primitive,
    cases: Sequence[Example],
    *,
    jit: Callable[..., Any],
    reference: ir.Backend,
    derived: bool = False,
) -> None:
    """Check that a compiled primitive agrees with the reference backend.

    Compiling takes the most time, so all examples are compiled as one function; those with 64-bit
    dtypes as another.

    Args:
      primitive: the primitive.
      cases: examples of it.
      jit: compiles a function of pytrees.
      reference: the backend to compare with.
      derived: whether to compare the jvp, the vjp and the batched form of the examples as well.

    Raises:
      AssertionError: if a result differs.
    """
    # One executable for all examples of a width: compiling each alone would take most of the time.
    for wide in (False, True):
        examples = [e for e in cases if e.wide is wide]
        if examples:
            with ir.enable_x64(wide):
                _check_compiled(primitive, examples, jit, reference, derived)


def _check_compiled(
    primitive: ir.Primitive,
    examples: Sequence[Example],
    jit: Callable[..., Any],
    reference: ir.Backend,
    derived: bool,
) -> None:
    functions = [list(_functions_of(primitive, e, derived)) for e in examples]

    def run(operands: Sequence[Sequence[Any]]) -> list[list[Any]]:
        return [
            [fun(*xs) for (_, fun, _), xs in zip(funs, rows, strict=True)]
            for funs, rows in zip(functions, operands, strict=True)
        ]

    computed = jit(run)([[xs for _, _, xs in funs] for funs in functions])
    for example, funs, results in zip(examples, functions, computed, strict=True):
        for (name, fun, xs), ours in zip(funs, results, strict=True):
            with ir.use_backend(reference):
                theirs = fun(*xs)
            for i, (x, y) in enumerate(zip(ours, theirs, strict=True)):
                what = f"the {name} of {primitive.name}{example}, result {i}"
                assert_results_close(np.asarray(x), np.asarray(y), what)


def _functions_of(
    primitive: ir.Primitive, example: Example, derived: bool
) -> Iterator[tuple[str, Callable[..., list[ir.Array]], list[Any]]]:
    """The functions to compare, each with its name and its operands."""
    fun = lambda *xs: example.bind(primitive, *xs)
    yield "program", fun, list(example.args)
    if not derived:
        return
    batched = "phase" not in exempt(primitive) and bool(example.args)
    if batched and not isinstance(batch_rules[primitive], ir.unsupported):
        yield "vmap", lambda *xs: list(vmap(fun)(*xs)), batched_operands(example)
    places = example.differentiable()
    if not places or not example.smooth or isinstance(jvp_rules[primitive], ir.unsupported):
        return
    of_places, primals = function_of_operands(primitive, example, places)
    if "fwd" in example.modes:
        push, at = pushed_forward(of_places, primals)
        yield "jvp", push, at
    if "rev" in example.modes and has_transpose(primitive):
        pull, at = pulled_back(of_places, primals, example.result_avals(primitive))
        yield "vjp", pull, at
