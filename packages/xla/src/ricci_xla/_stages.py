"""The stages of ``jit``, one at a time: traced, lowered, compiled."""

from collections.abc import Sequence
from typing import Any

from ricci_ir import Jaxpr, ShapeDtypeStruct, api_boundary
from ricci_pytree import tree_flatten, tree_unflatten

from ._compiled import (
    CompiledProgram,
    LoweredProgram,
    Options,
    compile_lowered,
    lower_program,
    place,
)
from ._program import Program


class ArgInfo:
    """What is known of an argument: its type, and whether it is donated."""

    __slots__ = ("_aval", "donated")

    def __init__(self, _aval: Any, donated: bool):
        self._aval = _aval
        self.donated = donated

    @property
    def shape(self) -> tuple[int, ...]:
        return self._aval.shape

    @property
    def dtype(self) -> Any:
        return self._aval.dtype

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ArgInfo) and (self._aval, self.donated) == (
            other._aval,
            other.donated,
        )

    def __hash__(self) -> int:
        return hash((self._aval, self.donated))

    def __repr__(self) -> str:
        return f"ArgInfo(_aval={self._aval!r}, donated={self.donated})"


class _Stage:
    """What every stage tells of the function's arguments and results."""

    def __init__(self, program: Program, leaves: Sequence[Any], options: Options):
        self._program = program
        self._leaves = leaves
        self._options = options

    @property
    def in_tree(self) -> Any:
        """The structure of ``(args, kwargs)``."""
        return self._program.in_tree

    @property
    def out_tree(self) -> Any:
        """The structure of the result."""
        return self._program.out_tree

    @property
    def args_info(self) -> Any:
        """A pytree like ``(args, kwargs)`` of ``ArgInfo``."""
        donated = self._options.donated or (False,) * len(self._leaves)
        return tree_unflatten(
            self.in_tree, [ArgInfo(a, d) for a, d in zip(self._in_avals(), donated, strict=True)]
        )

    @property
    def in_avals(self) -> Any:
        """A pytree like ``(args, kwargs)`` of types."""
        return tree_unflatten(self.in_tree, self._in_avals())

    @property
    def out_info(self) -> Any:
        """A pytree like the result of ``ShapeDtypeStruct``."""
        structs = [
            ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type)  # pyright: ignore
            for a in self._program.jaxpr.out_avals
        ]
        return tree_unflatten(self.out_tree, structs)

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """The positions, among the flattened arguments, of donated ones."""
        return tuple(i for i, d in enumerate(self._options.donated) if d)

    def _in_avals(self) -> list[Any]:
        return self._program.jaxpr.in_avals[len(self._program.consts) :]


class Traced(_Stage):
    """A function traced for given types: ``jit(f).trace(*args)``."""

    @property
    def jaxpr(self) -> Jaxpr:
        """The program, closed over its constants."""
        program = self._program
        count = len(program.consts)
        invars = program.jaxpr.invars
        return program.jaxpr.replace(
            constvars=invars[:count], consts=program.consts, invars=invars[count:]
        )

    @property
    def fun_name(self) -> str:
        """The function's name."""
        return self._program.name

    @api_boundary
    def lower(self) -> "Lowered":
        """Write the program as StableHLO."""
        placement = place(self._program, self._leaves, self._options)
        lowered = lower_program(self._program, placement, self._options)
        return Lowered(self._program, self._leaves, self._options, lowered)


class Lowered(_Stage):
    """A function as StableHLO: ``jit(f).lower(*args)``."""

    def __init__(self, program, leaves, options, lowered: LoweredProgram):
        super().__init__(program, leaves, options)
        self._lowered = lowered

    def as_text(self, dialect: str | None = None) -> str:
        """The module's text; ``dialect`` is ``"stablehlo"`` (the default)."""
        if dialect not in (None, "stablehlo"):
            raise ValueError(f"unknown dialect {dialect!r}: Ricci lowers to 'stablehlo'.")
        return self._lowered.text

    @api_boundary
    def compile(self, compiler_options: dict[str, Any] | None = None) -> "Compiled":
        """Compile for the devices it was lowered for."""
        options = self._options
        if compiler_options:
            merged = {**dict(options.compiler_options), **compiler_options}
            options = options._replace(compiler_options=tuple(sorted(merged.items())))
        compiled = compile_lowered(self._program, self._lowered, options)
        return Compiled(self._program, self._leaves, options, compiled)

    def cost_analysis(self) -> dict[str, float]:
        """XLA's estimates (flops, bytes accessed) for the compiled program."""
        return self.compile().cost_analysis()


class Compiled(_Stage):
    """A function compiled for given types; call it with arguments of just those types."""

    def __init__(self, program, leaves, options, compiled: CompiledProgram):
        super().__init__(program, leaves, options)
        self._compiled = compiled

    @api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves, tree = tree_flatten((args, kwargs))
        if tree != self.in_tree:
            raise TypeError(
                f"{self._program.name} was compiled for arguments of another structure:\n"
                f"  compiled for {self.in_tree}\n  called with  {tree}"
            )
        self._compiled.check_types(leaves)
        outs, _ = self._compiled.call(leaves)
        return tree_unflatten(self.out_tree, outs)

    def as_text(self) -> str:
        """The optimized HLO."""
        return self._compiled.executable.as_text()

    def cost_analysis(self) -> Any:
        """XLA's estimates: flops, bytes accessed."""
        return self._compiled.executable.cost_analysis()

    def memory_analysis(self) -> Any:
        """The sizes of arguments, results and temporary buffers, in bytes."""
        return self._compiled.executable.memory_analysis()

    def runtime_executable(self) -> Any:
        """jaxlib's loaded executable."""
        return self._compiled.executable.loaded
