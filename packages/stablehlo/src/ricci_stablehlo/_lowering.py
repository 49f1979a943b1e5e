"""Lower the equations of a jaxpr to StableHLO operations.

A primitive's ``lower`` rule is called as ``rule(ctx, *operands, **params)``. The operands are
``Value``; ``ctx.out`` (or ``ctx.outs`` for several results) is the type of the result. The rule
writes operations through ``ctx`` and returns a ``Value``, or a list of them for several results.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir

from . import _dimensions
from ._attributes import custom_call_attributes, parts_text
from ._module import Module
from ._operations import Function, Metadata, Region, annotate, signature
from ._types import dense, int_list, is_splat
from ._values import Value, extended_lower_rules, lower_rules
from ._writer import Writer

__all__ = ["Lowering", "form_for_cpu"]

# Returns a jaxpr in the form in which it is lowered for one CPU.
form_for_cpu: ir.Hook[Callable[[ir.Jaxpr], ir.Jaxpr]] = ir.Hook(
    "the form of products for CPUs", provided_by="ricci_lax", default=lambda jaxpr: jaxpr
)

# Constants of at least this many bytes may be omitted from the text, for dtypes of whole bytes.
LARGE = 4096
_WHOLE_BYTES = frozenset(
    {
        *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "bfloat16", "float32", "float64"),
    }
)


class Lowering(Writer):
    """The body of a function, or of a region, to which the equations of a jaxpr are lowered.

    Attributes:
      outs: the types of the results of the equation being lowered.
      scope: the path of names around the equation being lowered.
    """

    __slots__ = ("outs", "scope")
    location: str

    def __init__(self, module: Module, counter: list[int], scope: str = ""):
        super().__init__(module, counter)
        self.outs: Sequence[ir.ShapedArray] = ()
        self.scope: str = scope

    @property
    def out(self) -> ir.ShapedArray:
        """The type of the single result of the equation being lowered."""
        return self.outs[0]

    @property
    def platform(self) -> str:
        """The platform of the module: ``cpu``, ``cuda``, ``rocm`` or ``tpu``."""
        return self.module.platform

    def region(
        self,
        avals: Sequence[ir.AbstractValue],
        build: Callable[..., Sequence[Value]],
        terminator: str = "stablehlo.return",
    ) -> Region:
        """Return a region of one block, written by ``build(ctx, *arguments)``.

        ``build`` may use values of enclosing blocks.
        """
        inner = Lowering(self.module, self.counter, self.scope)
        inner.location = self.location
        if self.sizes:
            inner.sizes = dict(self.sizes)  # values of the region are not visible outside of it
        # The counter is shared with the outer body, so that no name of the region hides one
        # outside.
        args = [Value(self.new_name().replace("%", "%a"), aval) for aval in avals]
        # ``inner`` collects the operations in a list of its own, which becomes the block.
        results = build(inner, *args)
        return Region(args, inner.operations, results, terminator)

    def create_token(self) -> Value:
        """Write ``stablehlo.create_token``."""
        return self.append("stablehlo.create_token", "", [ir.abstract_token], "!stablehlo.token")[0]

    def constant(self, value: ir.ArrayLike, aval: ir.ShapedArray | None = None) -> Value:
        """Write a constant of type ``aval``; by default of the value's shape and dtype.

        The value may be a symbolic dimension.
        """
        if self.module.symbolic and (ir.is_symbolic_dim(value) or not _is_static(aval)):
            return self._symbolic_constant(value, aval)
        return super().constant(value, aval)

    def _symbolic_constant(self, value: Any, aval: ir.ShapedArray | None) -> Value:
        if ir.is_symbolic_dim(value):
            size = _dimensions.dimension_value(self, value)
            if aval is None or aval.dtype == size.dtype:
                return size if aval is None else self.broadcast_to(size, aval.shape)
            size = self.emit("stablehlo.convert", [size], aval.resized(()))
            return self.broadcast_to(size, aval.shape)
        # The shape is symbolic and the value is not: write the value in its own shape and broadcast
        # it.
        assert aval is not None
        array = np.asarray(value, aval.dtype)
        return self.broadcast_to(self.constant(array, aval.resized(array.shape)), aval.shape)

    def integers(self, values: Sequence[int], dtype: ir.DTypeLike) -> Value:
        """Write a vector of integers, which may be symbolic dimensions."""
        return _dimensions.shape_value(self, values, np.dtype(dtype))

    def broadcast(self, x: Value, shape: tuple[int, ...], dims: Sequence[int]) -> Value:
        """Write ``stablehlo.broadcast_in_dim``; return ``x`` unchanged if it has the shape."""
        aval = x.aval
        return (
            x
            if aval.shape == shape
            else _dimensions.write_broadcast(self, x, dims, aval.resized(shape))
        )

    def broadcast_to(self, x: Value, shape: tuple[int, ...]) -> Value:
        """Broadcast ``x``, a scalar or an array of the same rank, to a shape."""
        aval = x.aval
        if aval.shape == shape:
            return x
        dims = range(len(shape)) if aval.shape else ()
        return _dimensions.write_broadcast(self, x, dims, aval.resized(shape))

    def reshape(self, x: Value, shape: tuple[int, ...]) -> Value:
        """Write ``stablehlo.reshape``."""
        return _dimensions.write_reshape(self, x, x.aval.resized(shape))

    def custom_call(
        self,
        target: str,
        operands: Sequence[Value],
        outs: Sequence[ir.AbstractValue],
        *,
        backend_config: Mapping[str, str] | str | None = None,
        api_version: int = 4,
        has_side_effect: bool = False,
        operand_layouts: Sequence[Sequence[int]] | None = None,
        result_layouts: Sequence[Sequence[int]] | None = None,
        output_operand_aliases: Mapping[int, int] | None = None,
        extra: str = "",
        annotations: str = "",
        metadata: Metadata = (),
        shapes_as_operands: bool = True,
    ) -> list[Value]:
        """Write ``stablehlo.custom_call`` (typed FFI by default).

        Args:
          target: the registered name of the kernel.
          operands: the operands.
          outs: the types of the results.
          backend_config: attribute texts by name, such as ``{"uplo": "76 : ui8"}``; for calling
            conventions before 4 a string.
          api_version: the calling convention; 4 is the typed FFI.
          has_side_effect: whether the call is not dead code if its results are unused.
          operand_layouts, result_layouts: minor-to-major orders; passed together.
          output_operand_aliases: maps each output that reuses an operand's buffer to that operand.
          extra: the text of further attributes.
          annotations, metadata: see ``generic``.
          shapes_as_operands: whether the results' shapes become further operands if some are
            symbolic.
        """
        # The compiler learns the results' types from attributes alone; sizes known later are passed
        # as further operands.
        shapes: list[Value] = []
        if shapes_as_operands and self.module.symbolic and not all(map(_is_static, outs)):
            shapes = [_dimensions.shape_value(self, ir.physical_aval(x).shape) for x in outs]
            if operand_layouts is not None:
                operand_layouts = [*operand_layouts, *([(0,)] * len(shapes))]
        attributes = custom_call_attributes(
            target,
            len(outs),
            backend_config=backend_config,
            api_version=api_version,
            has_side_effect=has_side_effect,
            operand_layouts=operand_layouts,
            result_layouts=result_layouts,
            output_operand_aliases=output_operand_aliases,
        )
        attrs = [f"{name} = {text}" for name, text in attributes.items()]
        if extra:
            attrs.append(extra)
        if shapes:
            indices = int_list(range(len(operands), len(operands) + len(shapes)))
            note = f"indices_of_shape_operands = dense<{indices}> : tensor<{len(shapes)}xi64>"
            annotations = f"{annotations}, {note}" if annotations else note
            operands = [*operands, *shapes]
        return self.generic(
            "stablehlo.custom_call",
            operands,
            outs,
            ", ".join(attrs),
            annotations=annotations,
            metadata=metadata,
        )

    def call(
        self, jaxpr: ir.Jaxpr, name: str, operands: Sequence[Value], metadata: Metadata = ()
    ) -> list[Value]:
        """Call the private function that computes a jaxpr.

        Args:
          jaxpr: the jaxpr.
          name: the function's name; made unique in the module.
          operands: its arguments.
          metadata: see ``generic``.
        """
        locations = self.module.locations
        if jaxpr.effects:
            jaxpr = ir.without_references(jaxpr)
        if self.platform == "cpu" and (self.module.num_partitions == 1 or self.module.manual):
            jaxpr = form_for_cpu.call(jaxpr)
        # Locations then tell the calls of a function apart, which needs a copy of it for each.
        if locations is not None and locations.separate_calls:
            return self.inline(jaxpr, operands)
        symbol = self.module.function_for(jaxpr, name)
        # Functions cannot see the sizes of their caller, so that these are arguments.
        operands = [*self.dimensions_of(jaxpr), *operands]
        return self.call_function(symbol, operands, jaxpr.out_avals, metadata)

    def call_function(
        self,
        symbol: str,
        operands: Sequence[Value],
        outs: Sequence[ir.AbstractValue],
        metadata: Metadata = (),
    ) -> list[Value]:
        """Call a function of the module by its symbol."""
        body = f" @{symbol}({', '.join([x.name for x in operands])})"
        return self.append("call", body, outs, signature(operands, outs), metadata=metadata)

    def dimensions_of(self, jaxpr: ir.Jaxpr) -> list[Value]:
        """Return the first operands of a call of a jaxpr's function: its dimension variables."""
        if not self.module.symbolic:
            return []
        return [self.sizes[name] for name in _dimensions.dimension_variables(jaxpr)]

    def sharded(
        self, x: Value, mesh: Any, parts: ir.Parts, unreduced: ir.AxisNames = ir.no_axes
    ) -> Value:
        """Constrain a value's sharding over the ``Explicit`` axes of a mesh; see ``parts_text``."""
        if self.module.num_partitions == 1:
            return x
        symbol = self.module.mesh(tuple(mesh.shape.items()))
        text = parts_text(mesh, parts, ir.physical_aval(x.aval).ndim, unreduced)
        return self.constrained(x, f"<@{symbol}, {text}>")

    def constrained(self, x: Value, sharding: str) -> Value:
        """Write ``sdy.sharding_constraint``, with the text of a sharding."""
        return self.emit("sdy.sharding_constraint", [x], x.aval, sharding)

    def _closed_over(self, const: Any, aval: ir.ShapedArray) -> Value:
        """Write a constant of a jaxpr; the words of one of an extended dtype, such as a random key.

        If it is large, the module stores the array, and the text has its position.
        """
        if not isinstance(aval.dtype, ir.ExtendedDType):
            array, large = np.asarray(const), self.module.large_constants
            # Small constants cost little in the text. Those of equal elements are written as one.
            in_text = array.nbytes < LARGE or array.dtype.name not in _WHOLE_BYTES
            if large is None or in_text or is_splat(array):
                return self.constant(array, aval)
            # Compared by identity: comparing large arrays by value would cost more than it saves.
            index = next((i for i, constant in enumerate(large) if constant is array), len(large))
            if index == len(large):
                large.append(array)
            # The text has a zero and the constant's number, by which its values are put in later.
            zero = dense(np.zeros((), array.dtype))
            body = f" {{ricci.constant = {index} : i64}} {zero}"
            return self.write_constant(body, aval)
        return Value(self.constant(np.asarray(const.physical)).name, aval)

    def inline(self, jaxpr: ir.Jaxpr, operands: Sequence[Value]) -> list[Value]:
        """Write a jaxpr's operations in place, applied to ``operands``."""
        if jaxpr.effects:
            jaxpr = ir.without_references(jaxpr)
        if self.platform == "cpu" and (self.module.num_partitions == 1 or self.module.manual):
            jaxpr = form_for_cpu.call(jaxpr)
        env: dict[ir.Atom, Value] = {}
        for var, const in zip(jaxpr.constvars, jaxpr.consts, strict=True):
            env[var] = self._closed_over(const, var.aval)
        env.update(zip(jaxpr.invars, operands, strict=True))
        # Equal literals share one constant.
        literals: dict[tuple[bytes, Any, tuple[int, ...]], Value] = {}
        # Most jaxprs have neither extended dtypes nor shardings; the loop then skips both checks.
        extended, sharded = jaxpr.derived("kinds of types", lambda: _kinds_of_types(jaxpr))
        outer, scope, locations = self.location, self.scope, self.module.locations
        located = {} if locations is None else locations.under(scope)
        stack, by_primitive = None, {}

        def read(atom: ir.Atom) -> Value:
            if type(atom) is not ir.Literal:
                return env[atom]
            array = np.asarray(atom.val, atom.aval.dtype)
            # The bytes distinguish -0.0 from 0.0, and make a NaN equal to itself.
            key = (array.tobytes(), atom.aval.dtype, atom.aval.shape)
            value = literals.get(key)
            if value is None:
                value = literals[key] = self.constant(array, atom.aval)
            return value

        metadata = ir.operation_metadata.value
        with ir.SettingsSwitch() as switch:
            for eqn in jaxpr.eqns:
                # Equations in a row mostly have the same settings object, so that the switch is
                # rare.
                if eqn.settings is not switch.key:
                    switch.to(eqn.settings)
                    metadata = ir.operation_metadata.value
                outvars, primitive = eqn.outvars, eqn.primitive
                values = [env[x] if type(x) is not ir.Literal else read(x) for x in eqn.invars]
                self.outs = [var.aval for var in outvars]
                if locations is not None:
                    # The same holds of their stack of sources.
                    if eqn.raw_source[2] is not stack:
                        stack = eqn.raw_source[2]
                        by_primitive = located.setdefault(stack, {})
                    names = by_primitive.get(primitive)
                    self.scope, self.location = names or locations.add(scope, eqn)
                rule = extended_lower_rules.get(primitive) if extended else None
                if rule is None or not _any_extended([x.aval for x in values]):
                    rule = lower_rules[primitive]
                if metadata:
                    rule = _annotating(rule, metadata)
                result = rule(self, *values, **eqn.params)
                if primitive.multiple_results:
                    env.update(zip(outvars, result, strict=True))
                else:
                    env[outvars[0]] = result
                # Types with shardings promise how values are laid out over the mesh; tell the
                # compiler.
                for var in outvars if sharded else ():
                    sharding = var.aval.type_sharding
                    if sharding is not None and sharding.mesh is not None:
                        x, sums = env[var], sharding.sums[0]
                        env[var] = self.sharded(x, sharding.mesh, sharding.parts, sums)
        # A rule that inlines a jaxpr goes on with its own location.
        self.location, self.scope = outer, scope
        return [read(atom) for atom in jaxpr.outvars]


def _annotating(rule: Callable[..., Any], metadata: Metadata) -> Callable[..., Any]:
    """Wrap a lowering rule so that its operations have attributes for the compiler."""

    def annotating(ctx: Lowering, *operands: Value, **params: object) -> Any:
        start = len(ctx.operations)
        result = rule(ctx, *operands, **params)
        annotate(ctx.operations, start, metadata)
        return result

    return annotating


def _is_static(aval: ir.AbstractValue | None) -> bool:
    return ir.is_static_shape(getattr(aval, "shape", ()))


def _kinds_of_types(jaxpr: ir.Jaxpr) -> tuple[bool, bool]:
    """Whether a jaxpr has extended dtypes, and whether types of its results have shardings."""
    types = {var.aval for eqn in jaxpr.eqns for var in eqn.outvars}
    sharded = any(aval.type_sharding is not None for aval in types)
    inputs = (var.aval for var in (*jaxpr.constvars, *jaxpr.invars))
    return _any_extended(types.union(inputs)), sharded


def _any_extended(types: Iterable[ir.AbstractValue]) -> bool:
    return any(isinstance(getattr(aval, "dtype", None), ir.ExtendedDType) for aval in types)


def lower_function(
    module: Module,
    jaxpr: ir.Jaxpr,
    name: str,
    visibility: str = "private",
    scope: str = "",
    new_tokens: int = 0,
    arg_names: Sequence[str] = (),
    finish: Callable[[Lowering, Region], Sequence[Value]] | None = None,
) -> Function:
    """Return a function that computes a jaxpr.

    A private function takes the dimension variables of the jaxpr as its first arguments; a public
    one derives them from the shapes of its arguments.

    Args:
      module: the module of the function.
      jaxpr: the jaxpr.
      name: the function's symbol.
      visibility: ``public`` or ``private``.
      scope: the path of names around the jaxpr.
      new_tokens: the number of tokens that the function creates. They are the first arguments and
        results of the jaxpr, and not of the function.
      arg_names: the names of the arguments, for messages about their shapes.
      finish: appends operations to the complete body, and returns the function's results.
    """
    # Tokens that the function creates itself are not arguments of it.
    body = Lowering(module, [0], scope)
    args = [Value(f"%arg{i}", var.aval) for i, var in enumerate(jaxpr.invars[new_tokens:])]
    tokens = [body.create_token() for _ in range(new_tokens)]
    dimensions: list[Value] = []
    # Only the public function derives sizes from arrays; the private ones take them as arguments.
    if module.symbolic and visibility == "public":
        _dimensions.derive_dimensions(body, args, arg_names)
    elif module.symbolic:
        for i, variable in enumerate(_dimensions.dimension_variables(jaxpr)):
            body.sizes[variable] = Value(f"%dim{i}", ir.ShapedArray((), np.dtype(np.int32)))
        dimensions = list(body.sizes.values())
    results = body.inline(jaxpr, [*tokens, *args])[new_tokens:]
    block = Region([*dimensions, *args], body.operations, results, "return")
    if finish is not None:
        block.results = finish(body, block)
    return Function(name, block, visibility)
