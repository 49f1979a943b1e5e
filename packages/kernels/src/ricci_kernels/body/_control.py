"""Control flow in kernels: ``when``, ``loop``, and buffers that live in a part of a kernel."""

from collections.abc import Callable
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_kernels.blocks._integers import cdiv
from ricci_kernels.blocks._memory_spaces import MemoryRef, MemorySpace, SemaphoreType, buffer_type
from ricci_kernels.calls._interpreter import initial_value
from ricci_pytree import tree_flatten, tree_unflatten

__all__ = ["empty_ref_like", "get_global", "loop", "run_scoped", "run_state", "when", "with_scoped"]


def when(condition: Any, /) -> Callable[[Callable[[], None]], None]:
    """Make a decorator that runs a function at once, if a condition holds.

    Args:
      condition: a bool, or a traced scalar.

    Returns:
      A function that runs a function without arguments, which reads and writes references.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci.experimental import pallas as pl
      >>> def first_only(out):
      ...     @pl.when(pl.program_id(0) == 0)
      ...     def _():
      ...         out[...] = np.int32(7)
      >>> pl.pallas_call(first_only, ricci.ShapeDtypeStruct((), np.int32), grid=3, interpret=True)()
      Array(7, dtype=int32)
    """

    def decorate(fun: Callable[[], None]) -> None:
        # A condition that is known while tracing leaves no branch in the kernel.
        if isinstance(condition, bool | np.bool_):
            if condition:
                fun()
            return
        lax.cond(condition, lambda: _none(fun), lambda: None)

    return decorate


def _none(fun: Callable[[], Any]) -> None:
    fun()


def loop(
    lower: Any,
    upper: Any,
    *,
    init_carry: Any = None,
    step: Any = 1,
    unroll: int | bool | None = None,
) -> Callable[[Callable[..., Any]], Any]:
    """Make a decorator that runs a function at once for each index of a range.

    Args:
      lower, upper: the first index, and the end of the range.
      init_carry: the first value of what each call passes to the next, if not ``None``.
      step: the distance between indices, a positive int.
      unroll: how many calls are one step of the compiled loop; ``True`` for all.

    Returns:
      A function that runs ``f(i)``, or ``f(i, carry)``. It returns the last carry.

    Raises:
      ValueError: if ``step`` is not positive.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci.experimental import pallas as pl
      >>> def squares(out):
      ...     @pl.loop(0, 4)
      ...     def _(i):
      ...         out[i] = i * i
      >>> pl.pallas_call(squares, ricci.ShapeDtypeStruct((4,), np.int32), interpret=True)()
      Array([0, 1, 4, 9], dtype=int32)
    """
    if isinstance(step, int | np.integer) and step <= 0:
        raise ValueError(
            f"loop: step must be positive, got {step}. Count up, and read from the other end: "
            "upper - 1 - i."
        )

    def decorate(fun: Callable[..., Any]) -> Any:
        count = cdiv(upper - lower, step)
        # The counter itself, without arithmetic that has no effect.
        is_plain = all(isinstance(x, int) for x in (lower, step)) and (lower, step) == (0, 1)

        def body(k: Any, carry: Any) -> Any:
            i = k if is_plain else k * step + lower
            if init_carry is None:
                fun(i)
                return carry
            return fun(i, carry)

        result = lax.fori_loop(
            0, count, body, () if init_carry is None else init_carry, unroll=unroll
        )
        return None if init_carry is None else result

    return decorate


# Runs a jaxpr whose last arguments are references to new buffers; the operands are the others.
def _run_scoped_discharge(*operands: Any, jaxpr: ir.Jaxpr, collective_axes: Any) -> list[Any]:
    refs: list[Any] = [v.aval for v in jaxpr.invars[len(operands) :]]
    buffers = [ir.Ref(ref, initial_value(ref)) for ref in refs]
    return ir.eval_jaxpr(jaxpr, jaxpr.consts, *operands, *buffers)


def _scoped_effects(params: dict[str, Any]) -> frozenset[Any]:
    return params["jaxpr"].effects | {ir.inside_effect}


_discharged = ir.unsupported("buffers exist in kernels only; discharge the jaxpr first")

run_scoped_p: ir.Primitive = ir.define(
    "run_scoped",
    abstract_eval=lambda *_, jaxpr, collective_axes: jaxpr.out_avals,
    multiple_results=True,
    memo=False,
    effects=_scoped_effects,
    discharge=_run_scoped_discharge,
    sharding=ir.by_program,
    jvp=_discharged,
    transpose=_discharged,
    batch=_discharged,
    lower=_discharged,
)


def run_scoped(
    f: Callable[..., Any], *types: Any, collective_axes: Any = (), **kw_types: Any
) -> Any:
    """Run a function with references to new buffers, which end with it.

    Args:
      f: a function of the references.
      types: the buffers, such as ``pltpu.VMEM((8, 128), jnp.float32)``, or pytrees of them.
      collective_axes: the axes of a mesh whose programs share the buffers; of no effect.
      kw_types: buffers that are passed as keyword arguments.

    Returns:
      The function's result, a pytree of arrays.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci.experimental import pallas as pl
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> def reverse_twice(x, out):
      ...     def body(buffer):
      ...         buffer[...] = x[...][::-1]
      ...         out[...] = buffer[...][::-1]
      ...     pl.run_scoped(body, pltpu.VMEM((3,), np.float32))
      >>> same = pl.pallas_call(
      ...     reverse_twice, ricci.ShapeDtypeStruct((3,), np.float32), interpret=True
      ... )
      >>> same(np.float32([1, 2, 3]))
      Array([1., 2., 3.], dtype=float32)
    """
    leaves, tree = tree_flatten((types, kw_types))
    refs = [buffer_type(x, f"run_scoped: buffer {i}").get_ref_aval() for i, x in enumerate(leaves)]
    out_tree: Any = None

    def flat(*buffers: Any) -> list[Any]:
        nonlocal out_tree
        args, kwargs = tree_unflatten(tree, buffers)
        results, out_tree = tree_flatten(f(*args, **kwargs))
        return results

    jaxpr = ir.trace_to_jaxpr(flat, refs, ir.DebugInfo("run_scoped", getattr(f, "__name__", "f")))
    # Parameters of equations are hashed.
    if isinstance(collective_axes, list | tuple):
        collective_axes = tuple(collective_axes)
    outs = run_scoped_p.bind(
        *jaxpr.consts, jaxpr=ir.convert_constvars(jaxpr), collective_axes=collective_axes
    )
    return tree_unflatten(out_tree, outs)


def with_scoped(
    *types: Any, collective_axes: Any = (), **kw_types: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a decorator of functions whose last arguments are references to new buffers.

    Args:
      types, collective_axes, kw_types: see ``run_scoped``.

    Returns:
      A function from such a function to one without them.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci.experimental import pallas as pl
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> @pl.with_scoped(pltpu.SMEM((), np.int32))
      ... def kernel(out, counter):
      ...     counter[...] = np.int32(2)
      ...     out[...] = counter[...]
      >>> pl.pallas_call(kernel, ricci.ShapeDtypeStruct((), np.int32), interpret=True)()
      Array(2, dtype=int32)
    """

    def decorate(f: Callable[..., Any]) -> Callable[..., Any]:
        @ir.looks_like(f)
        def scoped(*args: Any, **kwargs: Any) -> Any:
            run = lambda *buffers, **named: f(*args, *buffers, **kwargs, **named)
            return run_scoped(run, *types, collective_axes=collective_axes, **kw_types)

        return scoped

    return decorate


def run_state[T](f: Callable[..., None]) -> Callable[[T], T]:
    """Make a function of arrays from one of references to them.

    Args:
      f: a function of references, which it reads and writes.

    Returns:
      A function of arrays, or a pytree of them, that returns what the references hold in the end.

    Example:
      >>> import numpy as np
      >>> from ricci.experimental import pallas as pl
      >>> def increment(ref):
      ...     ref[0] = ref[0] + 1.0
      >>> pl.run_state(increment)(np.float32([1, 2]))
      Array([2., 2.], dtype=float32)
    """

    def call(values: T) -> T:
        leaves, tree = tree_flatten(values)
        refs = [lax.refs.new_ref(x) for x in leaves]
        f(tree_unflatten(tree, refs))
        return tree_unflatten(tree, [lax.refs.freeze(ref) for ref in refs])

    return call


def empty_ref_like(x: Any) -> Any:
    """Make references to uninitialized buffers of the types of arrays.

    Args:
      x: an array, a ``ShapeDtypeStruct``, a buffer type, or a pytree of them.

    Returns:
      A reference, or a pytree of them.

    Example:
      >>> import numpy as np
      >>> from ricci.experimental import pallas as pl
      >>> pl.empty_ref_like(np.zeros(2, np.float32))
      Ref([nan, nan], dtype=float32)
    """
    leaves, tree = tree_flatten(x)
    refs = []
    for i, leaf in enumerate(leaves):
        buffer = buffer_type(leaf, f"empty_ref_like: leaf {i}")
        aval = buffer.get_ref_aval()
        refs.append(lax.refs.new_ref(initial_value(aval), memory_space=aval.memory_space))
    return tree_unflatten(tree, refs)


def get_global(what: MemoryRef | SemaphoreType) -> Any:
    """Make a reference to a buffer that all programs of a kernel share.

    Interpreted, programs run one after the other, and each has a buffer of its own.

    Args:
      what: the buffer, or the semaphore.

    Returns:
      The reference.

    Example:
      >>> from ricci.experimental import pallas as pl
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> pl.get_global(pltpu.SemaphoreType.REGULAR)
      Ref(0, dtype=int32)
    """
    ref = buffer_type(what, "get_global").get_ref_aval()
    space = ref.memory_space or MemorySpace.ANY
    return lax.refs.new_ref(initial_value(ref), memory_space=space, kind=ref.kind)
