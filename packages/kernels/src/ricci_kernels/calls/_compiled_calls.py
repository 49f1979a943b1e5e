"""Kernel calls as compilers of kernels see them.

A call that is not interpreted has a program of one equation, of the primitive ``compiled_kernel``.
Its lowering rule gives the call to the compiler that is registered for the platform, which reads
the kernel's jaxpr by the rules of its own kind.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from math import prod
from typing import Any

import ricci_ir as ir
from ricci_kernels.blocks._grid_mapping import BlockMapping, GridMapping, kernel_name
from ricci_kernels.blocks._programs import with_positions
from ricci_stablehlo import Lowering, Value

from ._partitioning import lower_partitioned, result_shardings

__all__: list[str] = []


class KernelCall(ir.TupleRecord):
    """A kernel call that is compiled.

    Attributes:
      name: the kernel's name.
      jaxpr: of the kernel. Its arguments are the position along each axis of the grid, the sizes
        of the dynamic axes, and the references: scalars that index maps read, inputs, outputs,
        scratch buffers.
      mapping: the grid, and the blocks of inputs and outputs.
      aliases: pairs of an operand, without the sizes of the grid, and the output in its buffer.
      out_avals: the types of the results.
      compiler_params, cost_estimate, metadata: as the user gave them.
    """

    name: str
    jaxpr: ir.Jaxpr
    mapping: GridMapping
    aliases: tuple[tuple[int, int], ...]
    out_avals: tuple[ir.ShapedArray, ...]
    compiler_params: Any
    cost_estimate: Any
    metadata: Any

    @property
    def grid(self) -> tuple[int | None, ...]:
        """The number of steps along each axis; ``None`` for one that is an operand."""
        return self.mapping.grid

    @property
    def num_steps(self) -> int | None:
        """The number of steps of the grid, if it is static."""
        grid = self.grid
        return None if None in grid else prod(size for size in grid if size is not None)

    @property
    def num_positions(self) -> int:
        """The number of arguments of the jaxpr that are not references."""
        return len(self.grid) + self.mapping.num_dynamic_grid_bounds

    @property
    def refs(self) -> Sequence[Any]:
        """The types of all references."""
        return self.jaxpr.in_avals[self.num_positions :]

    @property
    def scalars(self) -> Sequence[Any]:
        """The types of the references to scalars that index maps read."""
        return self.refs[: self.mapping.num_index_operands]

    @property
    def scratch(self) -> Sequence[Any]:
        """The types of the references to scratch buffers."""
        return self.refs[self.mapping.num_index_operands + len(self.mapping.block_mappings) :]

    @property
    def blocks(self) -> tuple[BlockMapping, ...]:
        """The blocks of the inputs, then of the outputs."""
        return self.mapping.block_mappings


def kernel_call(params: dict[str, Any]) -> KernelCall:
    """The call that the parameters of ``pallas_call`` describe."""
    jaxpr, mapping = params["jaxpr"], params["grid_mapping"]
    kernel = with_positions(jaxpr, mapping.vmapped, len(mapping.grid), mapping.dynamic_axes)
    return KernelCall(
        kernel_name(params),
        kernel,
        mapping,
        params["input_output_aliases"],
        tuple(params["out_avals"]),
        params["compiler_params"],
        params["cost_estimate"],
        params["metadata"],
    )


# By platform, a compiler: from the lowering context, the call and the operands (the sizes of
# dynamic axes, the scalars, the inputs) to the results.
type Compiler = Callable[[Lowering, KernelCall, Sequence[Value]], list[Value]]
kernel_compilers: dict[str, Compiler] = {}

# By platform, the module that registers a compiler; it is imported with the first kernel.
_MODULES = {"tpu": "ricci_kernels.mosaic"}


def _lower(ctx: Lowering, *operands: Value, **params: Any) -> list[Value]:
    partitioned = lower_partitioned(ctx, compiled_kernel_p, operands, params)
    if partitioned is not None:
        return partitioned
    if ctx.platform in _MODULES:
        import_module(_MODULES[ctx.platform])
    compiler = kernel_compilers.get(ctx.platform)
    if compiler is None:
        platforms = " and ".join(sorted({*kernel_compilers, *_MODULES}))
        jaxpr: ir.Jaxpr = params["jaxpr"]
        operand_types = ", ".join([x.aval.str_short() for x in operands])
        raise ValueError(
            f"Only interpret mode is supported on {ctx.platform.upper()} backend. Pass "
            f"interpret=True to pallas_call: kernels are compiled for {platforms} only. The kernel "
            f"is {jaxpr.debug_info.func_name}, of operands of {operand_types}."
        )
    return compiler(ctx, kernel_call(params), operands)


_outside = ir.unsupported("pallas_call is differentiated and batched before it is compiled")

compiled_kernel_p: ir.Primitive = ir.define(
    "compiled_kernel",
    abstract_eval=lambda *_, out_avals, **params: list(out_avals),
    multiple_results=True,
    memo=False,
    sharding=ir.own_sharding(result_shardings),
    jvp=_outside,
    transpose=_outside,
    batch=_outside,
    lower=_lower,
)


class Refused(NotImplementedError):
    """An equation of a kernel that a compiler has no rule for, with its line."""


class RefusedShape(Refused, ValueError):
    """An equation whose arrays have a shape that the compiler does not take."""


def refusal(target: str, eqn: ir.JaxprEqn, reason: str) -> Refused:
    """The error for an equation that cannot be compiled.

    Args:
      target: the compiler: ``"TPU"``.
      eqn: the equation.
      reason: a sentence, and what to write instead.
    """
    operands = ", ".join(v.aval.str_short() for v in eqn.invars)
    line = f"\nIt is at {eqn.source}" if eqn.raw_source[0] is not None else ""
    return Refused(
        f"{eqn.primitive.name}({operands}) in a kernel compiled for {target}: {reason}{line}"
    )


def apply_rules(
    target: str, rules: ir.RuleTable, ctx: Any, jaxpr: ir.Jaxpr, operands: Sequence[Any]
) -> list[Any]:
    """Apply the rules of a kind to the equations of a kernel; operations with programs are inlined.

    Args:
      target: the compiler's name in messages.
      rules: the table: ``rule(ctx, *operands, **params)``.
      ctx: has a method ``constant(value, aval)``. Its attributes ``eqn`` and ``outs`` are set to
        the equation, and to the types of its results.
      jaxpr: the jaxpr.
      operands: the values of its arguments.

    Returns:
      The values of its results.
    """
    env: dict[Any, Any] = dict(zip(jaxpr.invars, operands, strict=True))
    for var, const in zip(jaxpr.constvars, jaxpr.consts, strict=True):
        env[var] = ctx.constant(const, var.aval)
    literal = lambda atom: ctx.constant(atom.val, atom.aval)
    for eqn in jaxpr.eqns:
        values = [literal(x) if type(x) is ir.Literal else env[x] for x in eqn.invars]
        rule, program = rules.get(eqn.primitive), ir.program_rules.get(eqn.primitive)
        if rule is not None:
            ctx.eqn, ctx.outs = eqn, [v.aval for v in eqn.outvars]
            result = rule(ctx, *values, **eqn.params)
            results = result if eqn.primitive.multiple_results else [result]
        elif program is not None:
            results = apply_rules(target, rules, ctx, program(**eqn.params)[0], values)
        else:
            raise refusal(target, eqn, "the operation is not supported there.")
        env.update(zip(eqn.outvars, results, strict=True))
    return [literal(x) if type(x) is ir.Literal else env[x] for x in jaxpr.outvars]
