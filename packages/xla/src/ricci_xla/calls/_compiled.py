"""The last stage of ``jit``, ``Compiled``, and what all stages tell about arguments and results."""

from collections.abc import Sequence
from typing import Any

import ricci_ir as ir
from ricci_pytree import PyTreeDef, tree_flatten, tree_unflatten
from ricci_xla.arrays._layout import Format, Layout
from ricci_xla.compile._call import CompiledProgram
from ricci_xla.compile._place import Options
from ricci_xla.devices._runtime_types import LoadedExecutable
from ricci_xla.meshes._sharding_types import Sharding
from ricci_xla.tracing._program import Program

from ._jit_function import run
from ._references import ReferenceCall

__all__ = ["ArgInfo", "Compiled"]


@ir.exported
class ArgInfo(ir.Record):
    """An argument's type, and whether it is donated.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> lowered = ricci.jit(lambda x: x, donate_argnums=0).lower(jnp.ones(3))
      >>> (info,), _ = lowered.args_info
      >>> info.shape, info.donated
      ((3,), True)
    """

    _aval: Any
    donated: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """The argument's shape."""
        return self._aval.shape

    @property
    def dtype(self) -> Any:
        """The argument's dtype."""
        return self._aval.dtype

    def __repr__(self) -> str:
        return f"ArgInfo(_aval={self._aval!r}, donated={self.donated})"


class Stage:
    """The structure and types of a function's arguments and results, common to all stages."""

    def __init__(self, program: Program, leaves: Sequence[Any], options: Options):
        self._program = program
        self._leaves = leaves
        self._options = options

    @property
    def in_tree(self) -> PyTreeDef:
        """The structure of ``(args, kwargs)``."""
        return self._program.in_tree

    @property
    def out_tree(self) -> PyTreeDef:
        """The structure of the result."""
        return self._program.out_tree

    @property
    def args_info(self) -> ir.PyTree:
        """For each argument its ``ArgInfo``: a pytree like ``(args, kwargs)``."""
        avals = self._in_avals()
        donated = self._options.donated or (False,) * len(avals)
        return tree_unflatten(
            self.in_tree, [ArgInfo(a, d) for a, d in zip(avals, donated, strict=True)]
        )

    @property
    def in_avals(self) -> ir.PyTree:
        """For each argument its type: a pytree like ``(args, kwargs)``."""
        return tree_unflatten(self.in_tree, self._in_avals())

    @property
    def out_info(self) -> ir.PyTree:
        """The result described by ``ShapeDtypeStruct``: a pytree like the result."""
        return self._out_info(self._requested_shardings())

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """The positions of donated arguments among the flattened ones."""
        return tuple(i for i, d in enumerate(self._options.donated) if d)

    def _in_avals(self) -> list[Any]:
        return self._program.jaxpr.in_avals[len(self._program.consts) :]

    def _out_avals(self) -> Sequence[Any]:
        return self._program.jaxpr.out_avals

    def _requested_shardings(self) -> Sequence[Sharding | None]:
        """Return the sharding of each result, from ``out_shardings``."""
        return self._options.out_shardings or [None] * len(self._program.jaxpr.outvars)

    def _out_info(self, shardings: Sequence[Sharding | None]) -> ir.PyTree:
        structs = [
            ir.ShapeDtypeStruct(a.shape, a.dtype, sharding=s)
            for a, s in zip(self._out_avals(), shardings, strict=True)
        ]
        return tree_unflatten(self.out_tree, structs)


@ir.exported
class Compiled(Stage):
    """A function compiled for given types. Calls must have arguments of exactly these types.

    Args:
      program: the traced function.
      leaves: its flat arguments.
      options: the options of ``jit``.
      compiled: the executable.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> compiled = ricci.jit(lambda x: 2 * x).lower(jnp.ones(3)).compile()
      >>> compiled(jnp.arange(3.0)).tolist()
      [0.0, 2.0, 4.0]
      >>> compiled.memory_analysis().output_size_in_bytes
      12

    Notes:
      Nothing is converted: other shapes, dtypes or structures raise a TypeError that names the
      argument.
    """

    def __init__(
        self, program: Program, leaves: Sequence[Any], options: Options, compiled: CompiledProgram
    ):
        super().__init__(program, leaves, options)
        self._compiled = compiled

    def _out_avals(self) -> Sequence[Any]:
        return self._compiled.executable.out_avals

    @ir.api_boundary
    def __call__(self, *args: object, **kwargs: object) -> Any:
        leaves, tree = tree_flatten((args, kwargs))
        if tree != self.in_tree:
            raise TypeError(
                f"{self._program.name} was compiled for arguments of another structure:\n"
                f"  compiled for {self.in_tree}\n  called with  {tree}"
            )
        tracer = next((x for x in leaves if isinstance(x, ir.Tracer)), None)
        if tracer is not None:
            raise TypeError(
                f"{self._program.name} is compiled, so it cannot be transformed or become part of "
                f"another program, but it was called with a traced array of type "
                f"{tracer.aval.str_short()}. Transform or call the jitted function instead."
            )
        # Donated arrays of references are gone until the results are written: other threads wait.
        if ir.uses_references(self._program.jaxpr.effects):
            call = ReferenceCall(self._program, leaves)
            with call.locked():
                outs = self._run(call.leaves(donates=True))
                return tree_unflatten(self.out_tree, call.write_back(outs))
        return tree_unflatten(self.out_tree, self._run(leaves))

    def _run(self, leaves: Sequence[Any]) -> list[Any]:
        self._compiled.check_types(leaves)
        self._compiled.check_placement(leaves)
        return run(self._compiled, leaves, self._options)[0]

    def call(self, *args: object, **kwargs: object) -> Any:
        """Call the compiled function: the same as ``compiled(*args, **kwargs)``."""
        return self(*args, **kwargs)

    @property
    def out_info(self) -> ir.PyTree:
        """The result described by ``ShapeDtypeStruct`` with shardings."""
        return self._out_info(self._compiled.executable.out_shardings)

    @property
    def input_shardings(self) -> ir.PyTree:
        """For each argument the sharding that it must have; ``None`` if it is unused."""
        executable = self._compiled.executable
        pairs = zip(executable.in_shardings, executable.used_arguments, strict=True)
        return tree_unflatten(self.in_tree, [s if used else None for s, used in pairs])

    @property
    def output_shardings(self) -> ir.PyTree:
        """For each array in the result its sharding."""
        return tree_unflatten(self.out_tree, self._compiled.executable.out_shardings)

    @property
    def input_formats(self) -> ir.PyTree:
        """For each argument the ``Format`` that it must have; ``None`` if it is unused."""
        executable = self._compiled.executable
        layouts = executable.loaded.get_parameter_layouts()
        flags = executable.used_arguments
        of_used = iter(layouts[len(layouts) - sum(flags) :])  # tokens and constants come first
        formats = [
            Format(Layout.from_pjrt_layout(next(of_used)), sharding) if used else None
            for sharding, used in zip(executable.in_shardings, flags, strict=True)
        ]
        return tree_unflatten(self.in_tree, formats)

    @property
    def output_formats(self) -> ir.PyTree:
        """For each array in the result its ``Format``."""
        executable = self._compiled.executable
        layouts = executable.loaded.get_output_layouts()
        shardings = executable.out_shardings
        formats = [
            Format(Layout.from_pjrt_layout(layout), sharding)  # tokens come first
            for layout, sharding in zip(
                layouts[len(layouts) - len(shardings) :], shardings, strict=True
            )
        ]
        return tree_unflatten(self.out_tree, formats)

    def as_text(self) -> str:
        """Return the HLO text after XLA's optimizations."""
        return self._compiled.executable.as_text()

    def cost_analysis(self) -> dict[str, Any]:
        """XLA's estimates: flops, bytes accessed."""
        return self._compiled.executable.cost_analysis()

    def memory_analysis(self) -> Any:
        """The sizes of arguments, results and temporary buffers, in bytes."""
        return self._compiled.executable.memory_analysis()

    def runtime_executable(self) -> LoadedExecutable:
        """jaxlib's loaded executable."""
        return self._compiled.executable.loaded
