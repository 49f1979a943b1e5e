"""``xla_computation``: the HLO module of a function, before XLA optimizes it."""

from collections.abc import Callable, Mapping, Sequence
from functools import update_wrapper
from math import prod
from typing import Any

from ricci_ir import Cache, PyTree, ShapeDtypeStruct, api_boundary, extend_axes
from ricci_pytree import tree_unflatten
from ricci_stablehlo import lower_jaxpr
from ricci_xla.devices._client import get_backend, get_default_device
from ricci_xla.devices._jaxlib import hlo, runtime
from ricci_xla.devices._platforms import canonical_platform
from ricci_xla.tracing._arguments import donated_leaves, resolve_arguments, split_static
from ricci_xla.tracing._program import Program, abstract_leaves, trace_program

__all__ = ["xla_computation"]

# With more arguments than this, tuple_args=None makes them one tuple.
_MANY_ARGUMENTS = 100


def to_hlo(text: str, *, tuple_args: bool = False, return_tuple: bool = False) -> Any:
    """Convert a StableHLO module to jaxlib's ``XlaComputation``.

    Args:
      text: the module.
      tuple_args: whether the arguments become one tuple.
      return_tuple: whether a single result is returned in a tuple.
    """
    return runtime.mlir.mlir_module_to_xla_computation(
        text, use_tuple_args=tuple_args, return_tuple=return_tuple
    )


def hlo_text(computation: Any, debug_info: bool = False) -> str:
    """Return the HLO text of an ``XlaComputation``.

    Args:
      computation: the ``XlaComputation``.
      debug_info: whether to add the metadata of each instruction: the operation it comes from.
    """
    options = hlo.HloPrintOptions()
    options.print_metadata = debug_info
    return computation.as_hlo_module().to_string(options)


def xla_computation(
    fun: Callable[..., Any],
    static_argnums: int | Sequence[int] = (),
    axis_env: Sequence[tuple[Any, int]] | None = None,
    in_parts: object = None,
    out_parts: object = None,
    backend: str | None = None,
    tuple_args: bool | None = False,
    instantiate_const_outputs: bool | None = None,
    return_shape: bool = False,
    donate_argnums: int | Sequence[int] = (),
) -> Callable[..., Any]:
    """Make a function that returns the XLA computation of ``fun`` for given arguments.

    Args:
      fun: a function of pytrees of arrays.
      static_argnums: positions of arguments that are compile-time constants; must be hashable.
      axis_env: names and sizes of the axes that collectives in ``fun`` refer to, major to minor.
        The computation is for as many replicas as the product of the sizes.
      in_parts, out_parts: must be ``None``: see ``Raises``.
      backend: the platform to lower for; by default that of the default device.
      tuple_args: whether the computation takes all arguments as one tuple; ``None`` makes it so if
        there are more than 100.
      instantiate_const_outputs: has no effect.
      return_shape: whether to return a pytree of ``ShapeDtypeStruct`` as well.
      donate_argnums: positions of arguments whose buffers the results may reuse.

    Returns:
      A function of ``fun``'s arguments (or of anything with ``shape`` and ``dtype`` in place of
      arrays) that returns an ``XlaComputation``, with ``as_hlo_text``,
      ``as_serialized_hlo_module_proto`` and ``as_hlo_dot_graph``; or that and the result's shapes.

    Raises:
      NotImplementedError: for ``in_parts`` and ``out_parts``.
      TypeError: if an argument or a result is not an array.

    Example:
      >>> import ricci
      >>> computation = ricci.xla_computation(lambda x: {"a": x})(1.0)
      >>> print(computation.as_hlo_text().splitlines()[0].partition(",")[0])
      HloModule xla_computation__lambda
    """
    if in_parts is not None or out_parts is not None:
        raise NotImplementedError(
            "xla_computation: in_parts and out_parts are not supported, since XLA now takes "
            "shardings over a mesh. Use jit(fun, in_shardings=..., out_shardings=...).lower(...)."
            "compiler_ir('hlo')."
        )
    if not callable(fun):
        raise TypeError(f"xla_computation expects a callable, got {fun!r}.")
    arguments = resolve_arguments(fun, static_argnums, None, donate_argnums, None)
    axes = dict(axis_env or ())

    @api_boundary
    def computation_of(*args: object, **kwargs: object) -> Any:
        # ``axis_env`` are axes as of ``pmap``: their members are replicas of the computation.
        split = split_static(arguments, fun, args, kwargs)
        with extend_axes(axes.items()):
            cache = Cache("programs of xla_computation", 2)
            program = trace_program(fun, split, abstract_leaves(fun, split), cache)
        donated = donated_leaves(arguments, args, kwargs)
        as_tuple = len(split.leaves) > _MANY_ARGUMENTS if tuple_args is None else tuple_args
        computation = to_hlo(
            _module(program, axes, backend, donated), tuple_args=as_tuple, return_tuple=True
        )
        return (computation, _shapes(program)) if return_shape else computation

    return update_wrapper(computation_of, fun)


def _module(
    program: Program, axes: Mapping[Any, int], backend: str | None, donated: Sequence[bool]
) -> str:
    device = get_default_device() if backend is None else get_backend(backend).local_devices()[0]
    # The computation is all that a caller gets: constants cannot be hidden arguments.
    return lower_jaxpr(
        program.closed_jaxpr(),
        program.name,
        kind="xla_computation",
        platform=canonical_platform(device),
        axis_sizes=axes,
        num_replicas=prod(axes.values()),
        donors=[i for i, is_donated in enumerate(donated) if is_donated],
        embed_constants=True,
        locations=True,
    )


def _shapes(program: Program) -> PyTree:
    avals: list[Any] = program.jaxpr.out_avals
    described = [ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type) for a in avals]
    return tree_unflatten(program.out_tree, described)
