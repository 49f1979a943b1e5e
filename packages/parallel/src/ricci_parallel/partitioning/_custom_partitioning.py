"""``custom_partitioning``: an operation that the user partitions over devices, not the compiler."""

import inspect
from collections.abc import Callable, Sequence
from functools import partial, update_wrapper
from typing import Any, NoReturn, cast, final

import ricci_ir as ir
from ricci_pytree import PyTreeDef, argument_paths, tree_flatten, tree_unflatten
from ricci_stablehlo import Lowering, Value
from ricci_xla import Division, Mesh, Partitioner, Sharding

from ._rule import SdyShardingRule, parse_rule, rule_text

__all__ = ["custom_partitioning", "custom_partitioning_p"]

# Returns a rule for static arguments, a mesh, and the types of operands and of results.
type RuleMaker = Callable[..., SdyShardingRule | str]

_programs: ir.Cache[Any, tuple[ir.Jaxpr, PyTreeDef]] = ir.Cache(
    "functions with a partitioning", 512
)


def _lower(
    ctx: Lowering,
    *operands: Value,
    call: ir.Jaxpr,
    sharding_rule: "Callable[..., SdyShardingRule | None]",
    **params: Any,
) -> list[Value]:
    module = ctx.module
    # One device needs no partitioning, and a manual module works on each device's part already.
    if module.num_partitions == 1 or module.manual:
        return ctx.inline(call, operands)
    outs = list(ctx.outs)
    # It must not reference ``call``, which references the partitioner.
    divide = partial(_divide, (*call.in_avals, *call.out_avals), params)
    name = params["name"]
    partitioner = Partitioner(module, name, [v.aval for v in operands], outs, divide)
    call.derived(("partitioner", partitioner.number), lambda: partitioner)  # lives as long
    rule = sharding_rule(partitioner.mesh, [v.aval for v in operands], outs)
    text = ""
    if rule is not None:
        shapes = [v.aval.shape for v in operands], [aval.shape for aval in outs]
        text = f"sdy.sharding_rule = {rule_text(rule, *shapes)}"
    return ctx.custom_call(
        partitioner.target,
        operands,
        outs,
        api_version=2,
        extra=f'backend_config = "{partitioner.number}"',
        annotations=text,
    )


def _divide(
    avals: Sequence[Any],
    params: dict[str, Any],
    mesh: Mesh,
    tiled: Sequence[Sharding],
    named: Sequence[Sharding],
    count: int,
) -> Division:
    """Return the jaxpr of one device's part, traced from the user's ``partition``.

    Args:
      avals: the types of operands and then results.
      params: the parameters of the operation.
      mesh: the module's mesh.
      tiled, named: the shardings of operands and then results, as XLA and as the mesh has them.
      count: the number of operands.
    """
    name, in_tree, out_tree = params["name"], params["in_tree"], params["out_tree"]
    shardings = named if params["decode_shardings"] else tiled
    described = [
        ir.ShapeDtypeStruct(aval.shape, aval.dtype, sharding=sharding)
        for aval, sharding in zip(avals, shardings, strict=True)
    ]
    args = tree_unflatten(in_tree, described[:count])
    result = params["partition"](
        *params["static_args"], mesh, args, tree_unflatten(out_tree, described[count:])
    )
    if not isinstance(result, tuple) or len(result) != 4:
        raise ValueError(
            f"partition of {name} must return a mesh, a function, the shardings of the results and "
            f"those of the arguments; it returned {result!r:.80}."
        )
    mesh, part, of_results, of_args = result
    arg_shardings = _sharding_leaves(name, "arguments", of_args, in_tree)
    result_shardings = _sharding_leaves(name, "results", of_results, out_tree)
    shards = [
        aval.resized(sharding.shard_shape(aval.shape))
        for aval, sharding in zip(avals, [*arg_shardings, *result_shardings], strict=True)
    ]

    def flat(*xs: object) -> list[Any]:
        results, tree = tree_flatten(part(*tree_unflatten(in_tree, xs)))
        if tree != out_tree:
            raise ValueError(
                f"the function that partition of {name} returned gives {tree}, but {name} gives "
                f"{out_tree}."
            )
        return results

    with ir.extend_axes(mesh.shape.items()):
        jaxpr = ir.trace_to_jaxpr(flat, shards[:count], ir.DebugInfo("custom_partitioning", name))
    out_avals: list[Any] = jaxpr.out_avals
    for i, (one, other) in enumerate(zip(out_avals, shards[count:], strict=True)):
        if (one.shape, one.dtype) != (other.shape, other.dtype):
            raise ValueError(
                f"the function that partition of {name} returned gives {one.str_short()} as result "
                f"{i}, but a device's part of that is {other.str_short()}."
            )
    return Division(jaxpr, mesh, arg_shardings, result_shardings)


def _sharding_leaves(name: str, what: str, shardings: ir.PyTree, tree: PyTreeDef) -> list[Any]:
    leaves, structure = tree_flatten(shardings)
    if structure != tree:
        raise ValueError(
            f"partition of {name}: the shardings of the {what} must have their structure.\n"
            f"  expected {tree}\n  found    {structure}"
        )
    for sharding in leaves:
        if not isinstance(sharding, Sharding):
            raise ValueError(
                f"partition of {name}: expected a sharding for each of the {what}, got "
                f"{sharding!r:.60} of type {type(sharding).__name__}."
            )
    return leaves


# A function that ``partition`` partitions over devices: ``call`` is its jaxpr for one device. XLA
# asks for the jaxpr of a part when it compiles for several.
custom_partitioning_p: ir.Primitive = ir.define(
    "custom_partitioning",
    abstract_eval=lambda *avals, call, **params: call.out_avals,
    multiple_results=True,
    memo=False,
    effects=lambda params: params["call"].effects,
    sharding=ir.by_program,
    jvp=ir.unsupported("give the function derivatives with custom_jvp or custom_vjp around it"),
    transpose=ir.unsupported(
        "give the function derivatives with custom_jvp or custom_vjp around it"
    ),
    batch=ir.unsupported("give the function a rule for batches with custom_vmap around it"),
    lower=_lower,
    program=lambda *, call, name, **_: (call, name),
    dead_code=ir.live_whole,
)


@final
class custom_partitioning[**P, R]:
    """A function that a user's function partitions over devices.

    The compiler partitions most operations by itself. It cannot see into some, such as calls of
    foreign kernels, and would gather their operands; ``def_partition`` specifies how each device
    computes its part. On one device, and where it is called eagerly, the function runs unchanged.

    Args:
      fun: a function of pytrees of arrays, which closes over no traced arrays.
      static_argnums: positions of arguments that are not arrays; they must be hashable.

    Example:
      >>> from ricci import lax
      >>> from ricci.experimental.custom_partitioning import custom_partitioning
      >>> @custom_partitioning
      ... def f(x):
      ...     return lax.sin(x)
      >>> def partition(mesh, arg_shapes, result_shape):
      ...     shardings = tuple(x.sharding for x in arg_shapes)
      ...     return mesh, lax.sin, result_shape.sharding, shardings
      >>> _ = f.def_partition(partition, sharding_rule="i -> i")
      >>> f(0.0)
      Array(0., dtype=float32, weak_type=True)
    """

    def __init__(self, fun: Callable[P, R], static_argnums: Sequence[int] | int = ()):
        if not callable(fun):
            raise TypeError(f"custom_partitioning expects a function, got {fun!r:.60}.")
        self.fun: Callable[P, R] = fun
        self.static_argnums: tuple[int, ...] = (
            (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
        )
        self._params: dict[str, Any] | None = None
        update_wrapper(self, fun, updated=())  # not the attributes of another wrapper, as its fun

    @property
    def _name(self) -> str:
        return getattr(self.fun, "__name__", type(self.fun).__name__)

    def def_partition[F: Callable[..., Any]](
        self,
        partition: F,
        infer_sharding_from_operands: Callable[..., Any] | None = None,
        propagate_user_sharding: Callable[..., Any] | None = None,
        decode_shardings: bool = True,
        sharding_rule: str | SdyShardingRule | RuleMaker | None = None,
        *,
        reduction_factors: tuple[str, ...] = (),
        need_replication_factors: tuple[str, ...] = (),
        permutation_factors: tuple[str, ...] = (),
        **factor_sizes: int,
    ) -> F:
        """Specify how the function is partitioned.

        Args:
          partition: ``partition(*static_args, mesh, arg_shapes, result_shape)``, where the shapes
            are pytrees of ``ShapeDtypeStruct`` with the shardings that the compiler proposes. It
            returns a mesh, a function of the parts on one device, which may use collectives over
            the mesh's axes, and the shardings of the results and of the arguments.
          infer_sharding_from_operands, propagate_user_sharding: of an older partitioner; they are
            stored and not called, and do not replace ``sharding_rule``.
          decode_shardings: whether shardings are given as ``NamedSharding`` where they can be.
          sharding_rule: which dimensions are sharded alike, in the notation of einsum
            (``"... i j, j k -> ... i k"``), as a ``SdyShardingRule``, or a function that makes one
            of these of the static arguments, the mesh and the types of operands and results.
          reduction_factors, need_replication_factors, permutation_factors, **factor_sizes: see
            ``SdyShardingRule``; for a rule that is text.

        Returns:
          ``partition``.

        Raises:
          TypeError: if ``partition`` cannot be called, or the rule has another type.
          ValueError: if the text is not a rule, or factors are given for a rule that is not text.
        """
        if not callable(partition):
            raise TypeError(
                f"def_partition of {self._name}: partition must be a function, got "
                f"{partition!r:.60}"
            )
        named = {
            "reduction_factors": reduction_factors,
            "need_replication_factors": need_replication_factors,
            "permutation_factors": permutation_factors,
        }
        factors = {**{k: v for k, v in named.items() if v}, **factor_sizes}
        if isinstance(sharding_rule, str):
            sharding_rule = parse_rule(sharding_rule, **factors)
        elif factors:
            raise ValueError(
                f"def_partition of {self._name}: {', '.join(factors)} can be given for a rule that "
                "is text only. Give them to SdyShardingRule."
            )
        elif not (
            sharding_rule is None
            or isinstance(sharding_rule, SdyShardingRule)
            or callable(sharding_rule)
        ):
            raise TypeError(
                f"def_partition of {self._name}: sharding_rule is text, an SdyShardingRule or a "
                f"function, got {sharding_rule!r:.60} of type {type(sharding_rule).__name__}."
            )
        older = infer_sharding_from_operands, propagate_user_sharding
        self._params = {
            "decode_shardings": decode_shardings,
            "partition": partition,
            "sharding_rule": _Rule(self._name, sharding_rule, any(f is not None for f in older)),
        }
        return partition

    @ir.api_boundary
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function."""
        if self._params is None:
            raise TypeError(
                f"{self._name} has no partition yet: call {self._name}.def_partition(...) first."
            )
        positional = self._positional(args, kwargs)
        static = self._static_positions(len(positional))
        static_args = tuple(positional[i] for i in static)
        for i, value in zip(static, static_args, strict=True):
            self._check_static(i, value)
        arrays = tuple(x for i, x in enumerate(positional) if i not in static)
        leaves, in_tree = tree_flatten(arrays)
        avals = tuple(map(ir.argument_aval, leaves))
        key = (self, static_args, in_tree, avals, ir.trace_context())
        entry = _programs.entries.get(key)
        if entry is None:
            paths = argument_paths(arrays, {}, self.fun)
            entry = _programs.make(key, self._program, positional, static, in_tree, avals, paths)
        call, out_tree = entry
        rule: _Rule = self._params["sharding_rule"]
        outs = custom_partitioning_p.bind(
            *leaves,
            call=call,
            name=self._name,
            in_tree=in_tree,
            out_tree=out_tree,
            static_args=static_args,
            **{**self._params, "sharding_rule": rule.of(static_args)},
        )
        return tree_unflatten(out_tree, outs)

    def _positional(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        bound = inspect.signature(self.fun).bind(*args, **kwargs)
        bound.apply_defaults()
        if bound.kwargs:
            raise TypeError(
                f"{self._name}: the arguments {', '.join(bound.kwargs)} have no position, which "
                "all arguments of a function with custom_partitioning need."
            )
        return bound.args

    def _static_positions(self, count: int) -> list[int]:
        for i in self.static_argnums:
            if not -count <= i < count:
                raise IndexError(
                    f"custom_partitioning of {self._name}: static_argnums names position {i}, but "
                    f"the call has {count} arguments."
                )
        return sorted(i % count for i in self.static_argnums)

    def _check_static(self, i: int, value: object) -> None:
        if isinstance(value, ir.Tracer):
            raise ir.UnexpectedTracerError(
                f"{self._name}: argument {i} is static, but is a traced array of type "
                f"{value.aval.str_short()}. Take it out of static_argnums, or compute it ahead."
            )
        try:
            hash(value)
        except TypeError:
            raise ValueError(
                f"{self._name}: argument {i} is static and must be hashable, got {value!r:.60} of "
                f"type {type(value).__name__}. Take it out of static_argnums if it is an array."
            ) from None

    def _program(
        self,
        args: tuple[Any, ...],
        static: Sequence[int],
        in_tree: PyTreeDef,
        avals: Sequence[Any],
        paths: Sequence[str],
    ) -> tuple[ir.Jaxpr, PyTreeDef]:
        for path, aval in zip(paths, avals, strict=True):
            if isinstance(getattr(aval, "dtype", None), ir.ExtendedDType):
                raise TypeError(
                    f"{self._name}: argument {path} has the dtype {aval.dtype}, of which "
                    "custom_partitioning cannot divide arrays. Pass random.key_data(key)."
                )
        out_tree: Any = None

        def flat(*xs: object) -> list[Any]:
            nonlocal out_tree
            arrays = iter(tree_unflatten(in_tree, xs))
            full = (x if i in static else next(arrays) for i, x in enumerate(args))
            fun = cast(Callable[..., Any], self.fun)
            outs, out_tree = tree_flatten(fun(*full))
            return outs

        debug = ir.DebugInfo("custom_partitioning", self._name, tuple(paths))
        jaxpr = ir.trace_to_jaxpr(flat, avals, debug)
        traced = next((c for c in jaxpr.consts if isinstance(c, ir.Tracer)), None)
        if traced is not None:
            self._refuse(traced)
        return jaxpr, out_tree

    def _refuse(self, traced: ir.Tracer) -> NoReturn:
        raise ir.UnexpectedTracerError(
            f"{self._name} closes over a traced array of type {traced.aval.str_short()}, which "
            "custom_partitioning cannot divide. Make it an argument."
        )


class _Rule:
    """The rule passed to ``def_partition``, evaluated at each call."""

    __slots__ = ("has_callbacks", "name", "rule", "static_args")

    def __init__(
        self, name: str, rule: Any, has_callbacks: bool, static_args: tuple[Any, ...] = ()
    ):
        self.name: str = name
        self.rule: SdyShardingRule | RuleMaker | None = rule
        self.has_callbacks: bool = has_callbacks
        self.static_args: tuple[Any, ...] = static_args

    def of(self, static_args: tuple[Any, ...]) -> "_Rule":
        """Bind the rule to static arguments."""
        return _Rule(self.name, self.rule, self.has_callbacks, static_args) if static_args else self

    def __repr__(self) -> str:
        return repr(self.rule)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Rule) and (self.rule, self.static_args) == (
            other.rule,
            other.static_args,
        )

    def __hash__(self) -> int:
        return hash((self.rule, self.static_args))

    def __call__(
        self, mesh: Mesh, operands: Sequence[Any], results: Sequence[Any]
    ) -> SdyShardingRule | None:
        """Return the rule for the types of operands and results.

        Raises:
          NotImplementedError: if there is no rule, but functions of an older partitioner.
          ValueError: if the user's function returns something else.
        """
        rule = self.rule
        if rule is None:
            if self.has_callbacks:
                raise NotImplementedError(
                    f"custom_partitioning of {self.name}: infer_sharding_from_operands and "
                    "propagate_user_sharding are not called by the partitioner in use. Give "
                    "sharding_rule to def_partition."
                )
            return None
        if isinstance(rule, SdyShardingRule):
            return rule
        result = rule(*self.static_args, mesh, operands, results)
        if isinstance(result, str):
            return parse_rule(result)
        if not isinstance(result, SdyShardingRule):
            raise ValueError(
                f"custom_partitioning of {self.name}: the function sharding_rule must return text "
                f"or an SdyShardingRule, got {result!r:.60} of type {type(result).__name__}."
            )
        return result
