"""``kernel`` and ``core_map``: a function run by each core of a device."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ricci_ir as ir
import ricci_numpy as jnp
from ricci_kernels.blocks._memory_spaces import ANY, MemoryRef
from ricci_kernels.blocks._specs import BlockSpec, CompilerParams, CostEstimate
from ricci_kernels.primitives._memory_constraints import declared_spaces
from ricci_pytree import tree_flatten, tree_unflatten

from ._calls import pallas_call

__all__ = ["core_map", "kernel"]


@dataclass(frozen=True)
class TensorCoreMesh:
    """The cores of a TPU's chip.

    Attributes:
      axis_name: the name of their axis.
      num_cores: how many.

    Example:
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> pltpu.TensorCoreMesh(axis_name="core", num_cores=2).shape
      {'core': 2}
    """

    axis_name: str
    num_cores: int = 1

    @property
    def shape(self) -> dict[str, int]:
        """The size of each axis."""
        return {self.axis_name: self.num_cores}


def create_tensorcore_mesh(axis_name: str, num_cores: int | None = None) -> TensorCoreMesh:
    """Make a mesh of the cores of a chip.

    Args:
      axis_name: the name of their axis.
      num_cores: how many; by default 1.

    Returns:
      A ``TensorCoreMesh``.

    Example:
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> pltpu.create_tensorcore_mesh("core").num_cores
      1
    """
    return TensorCoreMesh(axis_name, 1 if num_cores is None else num_cores)


class _CoreScope(ir.TupleRecord):
    """A core as the name of an axis in scope, which keys caches of functions."""

    core: int


def _on_core[T](shape: Mapping[str, int], core: int, run: Callable[[], T]) -> T:
    """Run a function with the names of a mesh's axes in scope, at the position of a core."""
    # Positions are functions, which keys of caches do not contain: the scope adds the core to the
    # keys.
    axes: list[Any] = [
        (name, ir.PositionedSize(size, lambda: jnp.int32(core))) for name, size in shape.items()
    ]
    with ir.extend_axes([(_CoreScope(core), 1), *axes]):
        return run()


def _whole_arrays(spaces: Sequence[Any]) -> list[BlockSpec]:
    """The specs of whole arrays in memory spaces."""
    return [BlockSpec(memory_space=space) for space in spaces]


class _Absent:
    """The default of a body that a decorator gets."""


_absent = _Absent()


def kernel(
    body: Any = _absent,
    out_type: Any = (),
    *,
    mesh: Any,
    scratch_types: Any = (),
    compiler_params: CompilerParams | None = None,
    interpret: Any = False,
    cost_estimate: CostEstimate | None = None,
    debug: bool = False,
    name: str | None = None,
    metadata: Mapping[str, str] | None = None,
) -> Callable[..., Any]:
    """Make a function of arrays from one of references to whole arrays, which each core runs.

    Args:
      body: a function of references to the inputs, the outputs and scratch buffers. Without it,
        the result is a decorator.
      out_type: the types of the results: a ``ShapeDtypeStruct``, one of a memory space such as
        ``pltpu.SMEM((8,), jnp.int32)``, or a pytree of them.
      mesh: the cores. Interpreted, they run one after the other.
      scratch_types: the buffers of each core.
      compiler_params, interpret, cost_estimate, debug, name, metadata: see ``pallas_call``.

    Returns:
      A function of the inputs.

    Raises:
      NotImplementedError: for several meshes.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci.experimental import pallas as pl
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> @pl.kernel(
      ...     out_type=ricci.ShapeDtypeStruct((2,), np.float32),
      ...     mesh=pltpu.TensorCoreMesh(axis_name="core", num_cores=1),
      ...     interpret=True,
      ... )
      ... def double(x, out):
      ...     out[...] = x[...] * 2
      >>> double(np.float32([1, 2]))
      Array([2., 4.], dtype=float32)
    """
    if body is _absent:
        options = {
            "mesh": mesh,
            "scratch_types": scratch_types,
            "compiler_params": compiler_params,
            "interpret": interpret,
            "cost_estimate": cost_estimate,
            "debug": debug,
            "name": name,
            "metadata": metadata,
        }
        return lambda fun: kernel(fun, out_type, **options)
    if isinstance(mesh, Sequence) or isinstance(body, Sequence):
        raise NotImplementedError(
            "kernel: several meshes, each with a body, are not supported. Call it once for each."
        )
    axes = tuple(mesh.shape.items())
    is_single = all(size == 1 for _, size in axes)

    @ir.looks_like(body)
    def call(*args: Any) -> Any:
        leaves, tree = tree_flatten(args)
        outs, out_tree = tree_flatten(out_type)
        spaces = declared_spaces(leaves, ANY)
        out_spaces = [x.memory_space if isinstance(x, MemoryRef) else ANY for x in outs]
        run = pallas_call(
            body,
            out_type,
            grid=() if is_single else axes,
            in_specs=list(tree_unflatten(tree, _whole_arrays(spaces))),
            out_specs=tree_unflatten(out_tree, _whole_arrays(out_spaces)),
            scratch_shapes=scratch_types,
            compiler_params=compiler_params,
            interpret=interpret,
            cost_estimate=cost_estimate,
            debug=debug,
            name=name,
            metadata=metadata,
        )
        # A mesh of one core needs no grid; its axes are in scope all the same, at position 0.
        results = _on_core(mesh.shape, 0, lambda: run(*args)) if is_single else run(*args)
        return list(results) if isinstance(out_type, list) else results

    return call


def core_map(mesh: Any, **options: Any) -> Callable[[Callable[[], None]], None]:
    """Make a decorator that runs a function at once on each core of a mesh; see ``kernel``.

    Args:
      mesh: the cores. They run one after the other, at the place of the decorator.
      options: those of ``kernel``; of no effect.

    Returns:
      A function that runs a function without arguments, which closes over references.

    Example:
      >>> import numpy as np
      >>> from ricci.experimental import pallas as pl
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> def double(ref):
      ...     @pl.core_map(pltpu.TensorCoreMesh(axis_name="core"))
      ...     def _():
      ...         ref[...] = ref[...] * 2
      >>> pl.run_state(double)(np.float32([1, 2]))
      Array([2., 4.], dtype=float32)
    """
    del options

    def decorate(fun: Callable[[], None]) -> None:
        for core in range(next(iter(mesh.shape.values()), 1)):
            _on_core(mesh.shape, core, fun)

    return decorate
