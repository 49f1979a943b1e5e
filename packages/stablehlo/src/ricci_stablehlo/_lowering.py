"""Lower the equations of a jaxpr to StableHLO operations.

A primitive's ``lower`` rule is called as ``rule(ctx, *operands, **params)``. The operands are
``Value``; ``ctx.out`` (or ``ctx.outs`` for several results) is the type of the result. The rule
writes operations through ``ctx`` and returns a ``Value``, or a list of them for several results.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir

from ._custom_calls import custom_call_attributes
from ._dimensions import derive_dimensions, dimension_value, dimension_variables, shape_value
from ._dynamic_shapes import write_broadcast, write_reshape
from ._metadata import Metadata, annotate, metadata_text
from ._module import Module
from ._sdy_sharding import parts_text
from ._types import dense, int_list, is_splat, tensor_type
from ._values import Value, extended_lower_rules, lower_rules

__all__ = ["Lowering"]

# Constants of at least this many bytes may be omitted from the text, for dtypes of whole bytes.
LARGE = 4096
_WHOLE_BYTES = frozenset(
    {
        *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "bfloat16", "float32", "float64"),
    }
)


class Lowering:
    """The body of a function, or of a region, under construction.

    Attributes:
      module: its module.
      counter: a list of one number, the next SSA name; a function and its regions share it.
      lines: the text written so far.
      outs: the types of the results of the equation being lowered.
      scope: the path of names around the equation being lowered.
      location: the text that ends each of its operations.
      sizes: the values of symbolic dimensions: of variables, by name, and of computed ones.
    """

    __slots__ = ("counter", "indent", "lines", "location", "module", "outs", "scope", "sizes")

    module: Module
    counter: list[int]
    indent: str
    lines: list[str]
    outs: Sequence[ir.ShapedArray]
    scope: str
    location: str
    sizes: dict[Any, Value]

    def __init__(self, module: Module, counter: list[int], indent: str, scope: str = ""):
        self.module = module
        self.counter = counter
        self.indent = indent
        self.lines = []
        self.outs = ()
        self.scope = scope
        self.location = ""
        self.sizes = {}

    @property
    def out(self) -> ir.ShapedArray:
        """The type of the single result of the equation being lowered."""
        return self.outs[0]

    @property
    def platform(self) -> str:
        """The platform of the module: ``cpu``, ``cuda``, ``rocm`` or ``tpu``."""
        return self.module.platform

    def new_name(self) -> str:
        """Return an SSA name that is unused in the function."""
        n = self.counter[0]
        self.counter[0] = n + 1
        return f"%{n}"

    def write(self, operation: str) -> None:
        """Append the text of an operation."""
        self.lines.append(f"{self.indent}{operation}{self.location}")

    def emit(
        self, op: str, operands: Sequence[Value], out: ir.AbstractValue, attributes: str = ""
    ) -> Value:
        """Write an operation in the short form ``%r = op %a, %b attributes : types``.

        If all operands and the result have one type, it is written once.
        """
        name = self.new_name()
        result = tensor_type(out)
        types = [result if x.aval is out else tensor_type(x.aval) for x in operands]
        if types and types.count(result) == len(types):
            signature = result
        else:
            signature = f"({', '.join(types)}) -> {result}"
        separator = " " if attributes and not attributes.startswith(",") else ""
        names = ", ".join([x.name for x in operands])
        self.lines.append(
            f"{self.indent}{name} = {op} {names}{separator}{attributes} : {signature}"
            f"{self.location}"
        )
        return Value(name, out)

    def generic(
        self,
        op: str,
        operands: Sequence[Value],
        outs: Sequence[ir.AbstractValue],
        attributes: str = "",
        regions: Sequence[Sequence[str]] = (),
        annotations: str = "",
    ) -> list[Value]:
        """Write an operation in MLIR's generic form, with attributes and regions.

        Args:
          op: the full name, such as ``stablehlo.gather``.
          operands: the operands.
          outs: the types of the results.
          attributes: the text between ``<{`` and ``}>``.
          regions: blocks made by ``region``.
          annotations: attributes of other dialects, such as ``sdy.sharding``.
        """
        count = len(outs)
        name = self.new_name()
        head = f"{name} = " if count == 1 else f"{name}:{count} = " if count else ""
        types = ", ".join(tensor_type(x.aval) for x in operands)
        results = ", ".join(map(tensor_type, outs))
        if count != 1:
            results = f"({results})"
        attrs = f" <{{{attributes}}}>" if attributes else ""
        line = f'{self.indent}{head}"{op}"({", ".join(x.name for x in operands)}){attrs}'
        if regions:
            line += " ("
            for i, region in enumerate(regions):
                self.lines.append(f"{line}{{" if i == 0 else f"{self.indent}}}, {{")
                self.lines.extend(region)
            line = f"{self.indent}}})"
        notes = f" {{{annotations}}}" if annotations else ""
        self.lines.append(f"{line}{notes} : ({types}) -> {results}{self.location}")
        if count == 1:
            return [Value(name, outs[0])]
        return [Value(f"{name}#{i}", out) for i, out in enumerate(outs)]

    def region(
        self, avals: Sequence[ir.AbstractValue], build: Callable[..., Sequence[Value]]
    ) -> list[str]:
        """Return the lines of a region of one block, written by ``build(ctx, *arguments)``.

        ``build`` may use values of enclosing blocks.
        """
        inner = Lowering(self.module, self.counter, self.indent + "  ", self.scope)
        inner.location = self.location
        if self.sizes:
            inner.sizes = dict(self.sizes)  # values of the region are not visible outside of it
        args = [Value(self.new_name().replace("%", "%a"), aval) for aval in avals]
        results = build(inner, *args)
        header = ", ".join(f"{a}: {tensor_type(a.aval)}" for a in args)
        names = ", ".join(r.name for r in results)
        types = ", ".join(tensor_type(r.aval) for r in results)
        end = f"stablehlo.return {names} : {types}" if results else "stablehlo.return"
        lines = [f"{self.indent}^bb0({header}):"] if args else []
        return [*lines, *inner.lines, f"{inner.indent}{end}"]

    def constant(self, value: ir.ArrayLike, aval: ir.ShapedArray | None = None) -> Value:
        """Write a constant of type ``aval``; by default of the value's shape and dtype.

        The value may be a symbolic dimension.
        """
        if self.module.symbolic and (ir.is_symbolic_dim(value) or not _is_static(aval)):
            return self._symbolic_constant(value, aval)
        array = np.asarray(value, None if aval is None else aval.dtype)
        if aval is None:
            aval = ir.ShapedArray(array.shape, array.dtype)
        if array.shape != aval.shape:
            array = np.broadcast_to(array, aval.shape)
        name = self.new_name()
        self.write(f"{name} = stablehlo.constant {dense(array)} : {tensor_type(aval)}")
        return Value(name, aval)

    def _symbolic_constant(self, value: Any, aval: ir.ShapedArray | None) -> Value:
        if ir.is_symbolic_dim(value):
            size = dimension_value(self, value)
            if aval is None or aval.dtype == size.dtype:
                return size if aval is None else self.broadcast_to(size, aval.shape)
            size = self.emit("stablehlo.convert", [size], aval.update(shape=()))
            return self.broadcast_to(size, aval.shape)
        assert aval is not None
        array = np.asarray(value, aval.dtype)
        return self.broadcast_to(self.constant(array, aval.update(shape=array.shape)), aval.shape)

    def integers(self, values: Sequence[int], dtype: ir.DTypeLike) -> Value:
        """Write a vector of integers, which may be symbolic dimensions."""
        return shape_value(self, values, np.dtype(dtype))

    def broadcast(self, x: Value, shape: tuple[int, ...], dims: Sequence[int]) -> Value:
        """Write ``stablehlo.broadcast_in_dim``; return ``x`` unchanged if it has the shape."""
        if x.shape == shape:
            return x
        return write_broadcast(self, x, dims, x.aval.update(shape=shape))

    def broadcast_to(self, x: Value, shape: tuple[int, ...]) -> Value:
        """Broadcast ``x``, a scalar or an array of the same rank, to a shape."""
        if x.shape == shape:
            return x
        return self.broadcast(x, shape, range(len(shape)) if x.shape else ())

    def reshape(self, x: Value, shape: tuple[int, ...]) -> Value:
        """Write ``stablehlo.reshape``."""
        return write_reshape(self, x, x.aval.update(shape=shape))

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
          annotations: see ``generic``.
          shapes_as_operands: whether the results' shapes become further operands if some are
            symbolic.
        """
        shapes: list[Value] = []
        if shapes_as_operands and self.module.symbolic and not all(map(_is_static, outs)):
            shapes = [shape_value(self, ir.physical_aval(x).shape) for x in outs]
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
            "stablehlo.custom_call", operands, outs, ", ".join(attrs), annotations=annotations
        )

    def call(
        self, jaxpr: ir.Jaxpr, name: str, operands: Sequence[Value], metadata: Metadata = ()
    ) -> list[Value]:
        """Call the private function that computes a jaxpr.

        Args:
          jaxpr: the jaxpr.
          name: the function's name; made unique in the module.
          operands: its arguments.
          metadata: attributes of the call, for the compiler.
        """
        locations = self.module.locations
        if jaxpr.effects:
            jaxpr = ir.without_references(jaxpr)
        if locations is not None and locations.separate_calls:
            return self.inline(jaxpr, operands)
        symbol = self.module.function_for(jaxpr, name)
        operands = [*self.dimensions_of(jaxpr), *operands]
        outs = jaxpr.out_avals
        result = self.new_name()
        head = f"{result} = " if len(outs) == 1 else f"{result}:{len(outs)} = " if outs else ""
        types = ", ".join(tensor_type(x.aval) for x in operands)
        results = ", ".join(map(tensor_type, outs))
        results = results if len(outs) == 1 else f"({results})"
        names = ", ".join(x.name for x in operands)
        attributes = f" {{{metadata_text(metadata)}}}" if metadata else ""
        self.write(f"{head}call @{symbol}({names}){attributes} : ({types}) -> {results}")
        if len(outs) == 1:
            return [Value(result, outs[0])]
        return [Value(f"{result}#{i}", out) for i, out in enumerate(outs)]

    def dimensions_of(self, jaxpr: ir.Jaxpr) -> list[Value]:
        """Return the first operands of a call of a jaxpr's function: its dimension variables."""
        if not self.module.symbolic:
            return []
        return [self.sizes[name] for name in dimension_variables(jaxpr)]

    def sharded(
        self, x: Value, mesh: Any, parts: ir.Parts, unreduced: ir.AxisNames = ir.no_axes
    ) -> Value:
        """Constrain a value's sharding over the ``Explicit`` axes of a mesh; see ``parts_text``."""
        if self.module.num_partitions == 1:
            return x
        symbol = self.module.mesh(tuple(mesh.shape.items()))
        text = parts_text(mesh, parts, ir.physical_aval(x.aval).ndim, unreduced)
        name = self.new_name()
        self.write(
            f"{name} = sdy.sharding_constraint {x} <@{symbol}, {text}> : {tensor_type(x.aval)}"
        )
        return Value(name, x.aval)

    def _closed_over(self, const: Any, aval: ir.ShapedArray) -> Value:
        """Write a constant of a jaxpr; the words of one of an extended dtype, such as a random key.

        If it is large, the module stores the array, and the text has its position.
        """
        if not isinstance(aval.dtype, ir.ExtendedDType):
            array, large = np.asarray(const), self.module.large_constants
            in_text = array.nbytes < LARGE or array.dtype.name not in _WHOLE_BYTES
            if large is None or in_text or is_splat(array):
                return self.constant(array, aval)
            index = next((i for i, constant in enumerate(large) if constant is array), len(large))
            if index == len(large):
                large.append(array)
            name = self.new_name()
            self.write(
                f"{name} = stablehlo.constant {{ricci.constant = {index} : i64}} "
                f"{dense(np.zeros((), array.dtype))} : {tensor_type(aval)}"
            )
            return Value(name, aval)
        return Value(self.constant(np.asarray(const.physical)).name, aval)

    def inline(self, jaxpr: ir.Jaxpr, operands: Sequence[Value]) -> list[Value]:
        """Write a jaxpr's operations in place, applied to ``operands``."""
        if jaxpr.effects:
            jaxpr = ir.without_references(jaxpr)
        env: dict[ir.Atom, Value] = {}
        for var, const in zip(jaxpr.constvars, jaxpr.consts, strict=True):
            env[var] = self._closed_over(const, var.aval)
        env.update(zip(jaxpr.invars, operands, strict=True))
        literals: dict[tuple[bytes, Any, tuple[int, ...]], Value] = {}
        extended, sharded = jaxpr.derived("kinds of types", lambda: _kinds_of_types(jaxpr))
        outer, scope, locations = self.location, self.scope, self.module.locations
        located = {} if locations is None else locations.under(scope)

        def read(atom: ir.Atom) -> Value:
            if type(atom) is not ir.Literal:
                return env[atom]
            array = np.asarray(atom.val, atom.aval.dtype)
            key = (array.tobytes(), atom.aval.dtype, atom.aval.shape)
            value = literals.get(key)
            if value is None:
                value = literals[key] = self.constant(array, atom.aval)
            return value

        metadata = ir.operation_metadata.value
        with ir.SettingsSwitch() as switch:
            for eqn in jaxpr.eqns:
                if eqn.settings is not switch.key:
                    switch.to(eqn.settings)
                    metadata = ir.operation_metadata.value
                outvars = eqn.outvars
                values = [read(atom) for atom in eqn.invars]
                self.outs = [var.aval for var in outvars]
                if locations is not None:
                    names = located.get((eqn.raw_source[2], eqn.primitive))
                    self.scope, self.location = names or locations.add(scope, eqn)
                rule = extended_lower_rules.get(eqn.primitive) if extended else None
                if rule is None or not _any_extended([x.aval for x in values]):
                    rule = lower_rules[eqn.primitive]
                if metadata:
                    rule = _annotating(rule, metadata)
                result = rule(self, *values, **eqn.params)
                if eqn.primitive.multiple_results:
                    env.update(zip(outvars, result, strict=True))
                else:
                    env[outvars[0]] = result
                for var in outvars if sharded else ():
                    sharding = var.aval.type_sharding
                    if sharding is not None and sharding.mesh is not None:
                        x, sums = env[var], sharding.sums[0]
                        env[var] = self.sharded(x, sharding.mesh, sharding.parts, sums)
        self.location, self.scope = outer, scope
        return [read(atom) for atom in jaxpr.outvars]


def _annotating(rule: Callable[..., Any], metadata: Metadata) -> Callable[..., Any]:
    """Wrap a lowering rule so that its operations have attributes for the compiler."""

    def annotating(ctx: Lowering, *operands: Value, **params: object) -> Any:
        start = len(ctx.lines)
        result = rule(ctx, *operands, **params)
        annotate(ctx.lines, start, ctx.indent, metadata)
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
    visibility: str,
    arg_attributes: Sequence[str] | None = None,
    result_attributes: Sequence[str] | None = None,
    scope: str = "",
    new_tokens: int = 0,
    arg_names: Sequence[str] = (),
) -> str:
    """Return the text of a function that computes a jaxpr.

    A private function takes the dimension variables of the jaxpr as its first arguments; a public
    one derives them from the shapes of its arguments.

    Args:
      module: the module of the function.
      jaxpr: the jaxpr.
      name: the function's symbol.
      visibility: ``public`` or ``private``.
      arg_attributes, result_attributes: the attribute text of each argument and result.
      scope: the path of names around the jaxpr.
      new_tokens: the number of tokens that the function creates. They are the first arguments and
        results of the jaxpr, and not of the function.
      arg_names: the names of the arguments, for messages about their shapes.
    """
    body = Lowering(module, [0], "    ", scope)
    args = [Value(f"%arg{i}", var.aval) for i, var in enumerate(jaxpr.invars[new_tokens:])]
    tokens = []
    for var in jaxpr.invars[:new_tokens]:
        tokens.append(Value(body.new_name(), var.aval))
        body.write(f"{tokens[-1]} = stablehlo.create_token : !stablehlo.token")
    dimensions: list[Value] = []
    if module.symbolic and visibility == "public":
        derive_dimensions(body, args, arg_names)
    elif module.symbolic:
        for i, variable in enumerate(dimension_variables(jaxpr)):
            body.sizes[variable] = Value(f"%dim{i}", ir.ShapedArray((), np.dtype(np.int32)))
        dimensions = list(body.sizes.values())
    results = body.inline(jaxpr, [*tokens, *args])[new_tokens:]
    in_attrs = [""] * len(dimensions) + [*(arg_attributes or [""] * len(args))]
    args = [*dimensions, *args]
    out_attrs = result_attributes or [""] * len(results)
    params = ", ".join(
        f"{a}: {tensor_type(a.aval)}{attrs}" for a, attrs in zip(args, in_attrs, strict=True)
    )
    types = [tensor_type(r.aval) for r in results]
    if len(types) == 1 and not out_attrs[0]:
        signature = types[0]
    else:
        signature = ", ".join(t + attrs for t, attrs in zip(types, out_attrs, strict=True))
        signature = f"({signature})"
    end = (
        f"    return {', '.join(r.name for r in results)} : {', '.join(types)}"
        if types
        else "    return"
    )
    lines = [
        f"  func.func {visibility} @{name}({params}) -> {signature} {{",
        *body.lines,
        end,
        "  }",
    ]
    return "\n".join(lines)
