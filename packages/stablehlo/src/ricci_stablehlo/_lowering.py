"""Lowering a jaxpr to a StableHLO module.

A primitive's ``lower`` rule is called as ``rule(ctx, *operands, **params)``: operands are
``Value``; ``ctx.out`` (or ``ctx.outs`` for several results) is the result's type; it writes
operations through ``ctx`` and returns a ``Value``, or a list of them.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ricci_ir import ExtendedDType, Jaxpr, Literal, ShapedArray, rule_table, trace_to_jaxpr

from ._locations import Locations
from ._ordering import ordered_effects, thread_tokens
from ._types import dense, int_list, string, tensor_type

lower_rules = rule_table("lower")
# For primitives that move elements without looking at them: how they move elements of extended
# dtypes, such as random keys, which are arrays themselves.
extended_lower_rules = rule_table("extended_lower", required=False)


class Value:
    """An SSA value: its name in the text, and its type."""

    __slots__ = ("aval", "name")

    def __init__(self, name: str, aval: Any):
        self.name = name
        self.aval = aval

    def __str__(self) -> str:
        return self.name

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        return self.aval.dtype


class Module:
    """A module under construction: its functions, and what holds for all of them.

    Attributes:
      platform: ``cpu``, ``cuda``, ``rocm`` or ``tpu``: which kernels custom calls may name.
      axis_sizes: the named axes that replicas are laid out on, major to minor.
      locations: where operations are said to come from; ``None`` if nowhere.
      num_partitions: how many devices share the work.
      shardy: whether shardings are written by mesh axes.
      manual: whether what is being written runs on each device by itself.
      host_callbacks: the Python functions (``HostCallback``) that the module calls, by index.
      devices: those it will run on, if they are known.
    """

    def __init__(
        self,
        name: str,
        platform: str,
        axis_sizes: Mapping[Any, int],
        locations: "Locations | None" = None,
        num_partitions: int = 1,
        shardy: bool = True,
    ):
        self.name = name
        self.platform = platform
        self.locations = locations
        self.num_partitions = num_partitions
        self.shardy = shardy
        self.manual = False
        self.host_callbacks: list[Any] = []
        self.devices: Sequence[Any] = ()
        self.single_devices: dict[int, str] = {}
        self.axis_sizes = dict(axis_sizes)
        self.functions: list[str] = []
        self.names: dict[str, int] = {}
        self.private: dict[Jaxpr, str] = {}
        self.meshes: dict[tuple[tuple[Any, int], ...], str] = {}
        self.channels = 0

    def new_channel(self) -> int:
        """A channel that no collective of the module uses yet."""
        self.channels += 1
        return self.channels

    def mesh(self, axes: Sequence[tuple[Any, int]]) -> str:
        """The symbol of a device mesh with these axes (names and sizes), declared on first use."""
        key = tuple(axes)
        found = self.meshes.get(key)
        if found is None:
            found = self.meshes[key] = self.unique_name("mesh")
        return found

    def single_device_mesh(self, device: int) -> str:
        """The symbol of the mesh of one device, given by its position, declared on first use."""
        found = self.single_devices.get(device)
        if found is None:
            found = self.single_devices[device] = self.unique_name(f"maximal_mesh_{device}")
        return found

    def declarations(self) -> list[str]:
        """The lines that declare the meshes used."""
        sizes = {
            symbol: ", ".join(f"{string(str(name))}={size}" for name, size in axes)
            for axes, symbol in self.meshes.items()
        }
        return [
            *(f"  sdy.mesh @{symbol} = <[{text}]>" for symbol, text in sizes.items()),
            *(
                f"  sdy.mesh @{symbol} = <[], device_ids=[{device}]>"
                for device, symbol in self.single_devices.items()
            ),
        ]

    def unique_name(self, name: str) -> str:
        """A symbol that no function of the module has yet."""
        name = "".join(c if c.isascii() and (c.isalnum() or c in "_$.") else "_" for c in name)
        if not (name[:1].isalpha() or name[:1] == "_"):
            name = "_" + name
        count = self.names.get(name)
        if count is None:
            self.names[name] = 0
            return name
        while True:
            candidate = f"{name}_{count}"
            count += 1
            if candidate not in self.names:
                self.names[name] = count
                self.names[candidate] = 0
                return candidate

    def function_for(self, jaxpr: Jaxpr, name: str) -> str:
        """The private function that computes a jaxpr, written on first use."""
        # By the jaxpr, not its id: one that is gone could leave its id to another.
        found = self.private.get(jaxpr)
        if found is None:
            found = self.private[jaxpr] = self.unique_name(name)
            position = len(self.functions)
            text = lower_function(self, jaxpr, found, "private")
            self.functions.insert(position, text)
        return found


class Lowering:
    """The body of a function, or of a region, under construction.

    ``scope`` is what encloses its operations, a path of names; ``location`` ends the text of each.
    """

    __slots__ = ("counter", "indent", "lines", "location", "module", "outs", "scope")

    def __init__(self, module: Module, counter: list[int], indent: str, scope: str = ""):
        self.module = module
        self.counter = counter
        self.indent = indent
        self.lines: list[str] = []
        self.outs: Sequence[Any] = ()
        self.scope = scope
        self.location = ""

    @property
    def out(self) -> Any:
        """The type of the single result of the equation being lowered."""
        return self.outs[0]

    @property
    def platform(self) -> str:
        return self.module.platform

    def new_name(self) -> str:
        """A fresh SSA name."""
        n = self.counter[0]
        self.counter[0] = n + 1
        return f"%{n}"

    def write(self, operation: str) -> None:
        """Add an operation, given by its text."""
        self.lines.append(f"{self.indent}{operation}{self.location}")

    def emit(self, op: str, operands: Sequence[Value], out: Any, attributes: str = "") -> Value:
        """Write an operation in the short form ``%r = op %a, %b attributes : types``.

        Where the operands and the result share one type it is written once.
        """
        name = self.new_name()
        result = tensor_type(out)
        types = [tensor_type(x.aval) for x in operands]
        if all(t == result for t in types) and types:
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
        outs: Sequence[Any],
        attributes: str = "",
        regions: Sequence[Sequence[str]] = (),
        annotations: str = "",
    ) -> list[Value]:
        """Write an operation in MLIR's generic form, with attributes and regions.

        Args:
          op: the full name, such as ``stablehlo.gather``.
          outs: the results' types.
          attributes: what goes between ``<{`` and ``}>``.
          regions: blocks made by ``region``.
          annotations: attributes that are not the operation's own, such as ``sdy.sharding``.
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

    def region(self, avals: Sequence[Any], build: Callable[..., Sequence[Value]]) -> list[str]:
        """The lines of a region of one block; ``build(ctx, *arguments)`` writes it.

        Values of enclosing blocks may be used inside.
        """
        inner = Lowering(self.module, self.counter, self.indent + "  ", self.scope)
        inner.location = self.location
        args = [Value(self.new_name().replace("%", "%a"), aval) for aval in avals]
        results = build(inner, *args)
        header = ", ".join(f"{a}: {tensor_type(a.aval)}" for a in args)
        names = ", ".join(r.name for r in results)
        types = ", ".join(tensor_type(r.aval) for r in results)
        end = f"stablehlo.return {names} : {types}" if results else "stablehlo.return"
        lines = [f"{self.indent}^bb0({header}):"] if args else []
        return [*lines, *inner.lines, f"{inner.indent}{end}"]

    def constant(self, value: Any, aval: ShapedArray | None = None) -> Value:
        """A constant; ``aval`` gives its type where the value's own dtype does not."""
        array = np.asarray(value, None if aval is None else aval.dtype)
        if aval is None:
            aval = ShapedArray(array.shape, array.dtype)
        if array.shape != aval.shape:
            array = np.broadcast_to(array, aval.shape)
        name = self.new_name()
        self.write(f"{name} = stablehlo.constant {dense(array)} : {tensor_type(aval)}")
        return Value(name, aval)

    def broadcast(self, x: Value, shape: tuple[int, ...], dims: Sequence[int]) -> Value:
        """``stablehlo.broadcast_in_dim``; ``x`` itself where nothing changes."""
        if x.shape == shape:
            return x
        out = x.aval.update(shape=shape)
        return self.emit("stablehlo.broadcast_in_dim", [x], out, f", dims = {int_list(dims)}")

    def broadcast_to(self, x: Value, shape: tuple[int, ...]) -> Value:
        """``x``, a scalar or of the rank of ``shape``, with the given shape."""
        if x.shape == shape:
            return x
        return self.broadcast(x, shape, range(len(shape)) if x.shape else ())

    def custom_call(
        self,
        target: str,
        operands: Sequence[Value],
        outs: Sequence[Any],
        *,
        backend_config: Mapping[str, str] | None = None,
        api_version: int = 4,
        has_side_effect: bool = False,
        operand_layouts: Sequence[Sequence[int]] | None = None,
        result_layouts: Sequence[Sequence[int]] | None = None,
        output_operand_aliases: Mapping[int, int] | None = None,
        extra: str = "",
        annotations: str = "",
    ) -> list[Value]:
        """Write ``stablehlo.custom_call`` (typed FFI by default).

        Args:
          target: the registered name of the kernel.
          backend_config: attribute texts by name, such as ``{"uplo": "76 : ui8"}``.
          operand_layouts, result_layouts: minor-to-major orders; given together.
          output_operand_aliases: which output reuses the buffer of which operand.
          annotations: see ``generic``.
        """
        attrs = [f"api_version = {api_version} : i32", f"call_target_name = {string(target)}"]
        if backend_config is not None:
            fields = ", ".join(f"{k} = {v}" for k, v in backend_config.items())
            attrs.append(f"backend_config = {{{fields}}}")
        if has_side_effect:
            attrs.append("has_side_effect = true")
        if operand_layouts is not None:
            attrs.append(f"operand_layouts = [{', '.join(map(_layout, operand_layouts))}]")
        if result_layouts is not None:
            attrs.append(f"result_layouts = [{', '.join(map(_layout, result_layouts))}]")
        if output_operand_aliases:
            single = len(outs) == 1
            aliases = ", ".join(
                "#stablehlo.output_operand_alias<"
                f"output_tuple_indices = [{'' if single else out}], "
                f"operand_index = {operand}, operand_tuple_indices = []>"
                for out, operand in output_operand_aliases.items()
            )
            attrs.append(f"output_operand_aliases = [{aliases}]")
        if extra:
            attrs.append(extra)
        return self.generic(
            "stablehlo.custom_call", operands, outs, ", ".join(attrs), annotations=annotations
        )

    def call(self, jaxpr: Jaxpr, name: str, operands: Sequence[Value]) -> list[Value]:
        """Call the private function that computes a jaxpr."""
        symbol = self.module.function_for(jaxpr, name)
        outs = jaxpr.out_avals
        result = self.new_name()
        head = f"{result} = " if len(outs) == 1 else f"{result}:{len(outs)} = " if outs else ""
        types = ", ".join(tensor_type(x.aval) for x in operands)
        results = ", ".join(map(tensor_type, outs))
        results = results if len(outs) == 1 else f"({results})"
        names = ", ".join(x.name for x in operands)
        self.write(f"{head}call @{symbol}({names}) : ({types}) -> {results}")
        if len(outs) == 1:
            return [Value(result, outs[0])]
        return [Value(f"{result}#{i}", out) for i, out in enumerate(outs)]

    def inline(self, jaxpr: Jaxpr, operands: Sequence[Value]) -> list[Value]:
        """Write a jaxpr's operations here, applied to ``operands``."""
        env: dict[int, Value] = {}
        for var, const in zip(jaxpr.constvars, jaxpr.consts, strict=True):
            env[id(var)] = self.constant(np.asarray(const), var.aval)  # pyright: ignore
        for var, value in zip(jaxpr.invars, operands, strict=True):
            env[id(var)] = value
        literals: dict[Any, Value] = {}
        extended = jaxpr.derived("extended dtypes", lambda: _has_extended_dtypes(jaxpr))
        outer, scope, locations = self.location, self.scope, self.module.locations
        located = {} if locations is None else locations.under(scope)

        def read(atom: Any) -> Value:
            if type(atom) is not Literal:
                return env[id(atom)]
            array = np.asarray(atom.val, atom.aval.dtype)
            key = (array.tobytes(), atom.aval.dtype, array.shape)
            found = literals.get(key)
            if found is None:
                found = literals[key] = self.constant(array, atom.aval)
            return found

        for eqn in jaxpr.eqns:
            outvars = eqn.outvars
            values = [read(atom) for atom in eqn.invars]
            self.outs = [var.aval for var in outvars]
            if locations is not None:
                found = located.get((eqn.raw_source[2], eqn.primitive))
                self.scope, self.location = found or locations.add(scope, eqn)
            rule = extended_lower_rules.get(eqn.primitive) if extended else None
            if rule is None or not _any_extended(values):
                rule = lower_rules[eqn.primitive]
            result = rule(self, *values, **eqn.params)
            if eqn.primitive.multiple_results:
                for var, value in zip(outvars, result, strict=True):
                    env[id(var)] = value
            else:
                env[id(outvars[0])] = result
        self.location, self.scope = outer, scope
        return [read(atom) for atom in jaxpr.outvars]


def _has_extended_dtypes(jaxpr: Jaxpr) -> bool:
    variables = [*jaxpr.invars, *(var for eqn in jaxpr.eqns for var in eqn.outvars)]
    return _any_extended(variables)


def _any_extended(typed: Sequence[Any]) -> bool:
    return any(isinstance(getattr(x.aval, "dtype", None), ExtendedDType) for x in typed)


def _layout(order: Sequence[int]) -> str:
    values = ", ".join(map(str, order))
    return f"dense<{'[' + values + ']' if len(order) else ''}> : tensor<{len(order)}xindex>"


def lower_function(
    module: Module,
    jaxpr: Jaxpr,
    name: str,
    visibility: str,
    arg_attributes: Sequence[str] | None = None,
    result_attributes: Sequence[str] | None = None,
    scope: str = "",
    new_tokens: int = 0,
) -> str:
    """The text of a function that computes a jaxpr.

    Args:
      new_tokens: how many leading arguments, and as many results, are tokens that the function
        makes and drops itself.
    """
    body = Lowering(module, [0], "    ", scope)
    args = [Value(f"%arg{i}", var.aval) for i, var in enumerate(jaxpr.invars[new_tokens:])]
    tokens = []
    for var in jaxpr.invars[:new_tokens]:
        tokens.append(Value(body.new_name(), var.aval))
        body.write(f"{tokens[-1]} = stablehlo.create_token : !stablehlo.token")
    results = body.inline(jaxpr, [*tokens, *args])[new_tokens:]
    in_attrs = arg_attributes or [""] * len(args)
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


def lower_jaxpr(
    jaxpr: Jaxpr,
    name: str,
    *,
    platform: str = "cpu",
    aliases: Mapping[int, int] | None = None,
    donors: Sequence[int] = (),
    axis_sizes: Mapping[Any, int] | None = None,
    num_replicas: int = 1,
    num_partitions: int = 1,
    result_info: Sequence[str] | None = None,
    arg_attributes: Sequence[Sequence[str]] | None = None,
    result_attributes: Sequence[Sequence[str]] | None = None,
    meshes: Mapping[tuple, str] | None = None,
    locations: bool = False,
    shardy: bool = True,
    host_callbacks: list[Any] | None = None,
    devices: Sequence[Any] = (),
    kind: str = "jit",
    embed_constants: bool = False,
) -> str:
    """The StableHLO module that computes a jaxpr.

    On one device, a program with ordered effects takes a token for each kind of them ahead of all
    else, and gives one.

    Args:
      jaxpr: the program. Its constants become leading arguments of ``@main``.
      name: the function's; the module is called ``kind``, an underscore and it.
      platform: what the module will run on.
      aliases: for arguments whose buffer is given to a result, the result's position.
      donors: arguments whose buffer may be given to any result.
      axis_sizes: the named axes in scope, major to minor, laid out over the replicas.
      num_replicas, num_partitions: how many devices run the module.
      result_info: what each result is, in the user's terms.
      arg_attributes, result_attributes: further attribute texts for each argument and result.
      meshes: the symbols, used in those texts, of device meshes given by their axes.
      locations: whether each operation says which primitive it is from, in which scopes: its
        name in profiles.
      shardy: whether shardings are written by mesh axes, else by tiles.
      host_callbacks: a list that the Python functions which the module calls (``HostCallback``)
        are appended to; the module names them by their index in it.
      devices: those it will run on, for what is to know them.
      kind: what turned the function into a program.
      embed_constants: whether the constants are written into the text, instead of made arguments.

    Returns:
      The text of the module.
    """
    if not embed_constants:
        jaxpr = _with_leading_consts(jaxpr)
    module = Module(
        name,
        platform,
        axis_sizes or {},
        Locations() if locations else None,
        num_partitions,
        shardy,
    )
    module.devices = devices
    if host_callbacks is not None:
        module.host_callbacks = host_callbacks
    tokens = len(ordered_effects(jaxpr.effects))
    taken = tokens if num_partitions == 1 else 0
    module.names["main"] = 0
    for axes, symbol in (meshes or {}).items():
        module.meshes[axes] = module.unique_name(symbol)
    attributes = [list(a) for a in arg_attributes] if arg_attributes else [[] for _ in jaxpr.invars]
    for argument, result in (aliases or {}).items():
        attributes[argument].append(f"tf.aliasing_output = {result + taken} : i32")
    for argument in donors:
        attributes[argument].append("jax.buffer_donor = true")
    outs = (
        [list(a) for a in result_attributes] if result_attributes else [[] for _ in jaxpr.outvars]
    )
    for texts, what in zip(outs, result_info or (), strict=False):
        texts.insert(0, f"jax.result_info = {string(what)}")
    token_attributes = [["jax.token = true"]] * taken
    out_attrs = [f" {{{', '.join(a)}}}" if a else "" for a in (*token_attributes, *outs)]
    in_attrs = [f" {{{', '.join(a)}}}" if a else "" for a in (*token_attributes, *attributes)]
    main = lower_function(
        module,
        thread_tokens(jaxpr) if tokens else jaxpr,
        "main",
        "public",
        in_attrs,
        out_attrs,
        scope=f"{kind}({name})/",
        new_tokens=tokens - taken,
    )
    symbol = module.unique_name(f"{kind}_{name}").rstrip("_")
    head = (
        f"module @{symbol} attributes {{mhlo.num_partitions = {num_partitions} : i32, "
        f"mhlo.num_replicas = {num_replicas} : i32}} {{"
    )
    names = module.locations.declarations() if module.locations is not None else ()
    return "\n".join([*names, head, *module.declarations(), main, *module.functions, "}", ""])


def _with_leading_consts(jaxpr: Jaxpr) -> Jaxpr:
    if not jaxpr.constvars:
        return jaxpr
    return jaxpr.replace(constvars=(), consts=(), invars=[*jaxpr.constvars, *jaxpr.invars])


def traced(fun: Callable[..., Any]) -> Callable[..., Any]:
    """A lowering rule that writes what a function of arrays does, traced.

    Args:
      fun: ``fun(*operands, **params)``, made of other primitives; returns an array, or a
        sequence of them for a primitive of several results.
    """

    def lower(ctx: Lowering, *operands: Value, **params: Any) -> Any:
        many = True

        def flat(*xs):
            nonlocal many
            result = fun(*xs, **params)
            many = isinstance(result, list | tuple)
            return result if many else [result]

        jaxpr = trace_to_jaxpr(flat, [x.aval for x in operands])
        results = ctx.inline(jaxpr, operands)
        return results if many else results[0]

    return lower
