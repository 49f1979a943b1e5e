"""``shard_map``: a function of shards, run on every device of a mesh."""

from collections.abc import Callable, Hashable, Sequence, Set
from functools import partial
from typing import Any, Final, final, overload

import ricci_ir as ir
import ricci_pytree as pytree
import ricci_xla as xla
from ricci_lax import expand_dims
from ricci_parallel._reshard import Decorator

from ._primitive import shard_map_p
from ._printed_shards import PrintingTrace
from ._specs import (
    AnyMesh,
    Specs,
    check_inputs,
    check_outputs,
    in_scope,
    named_axes_of,
    shard_aval,
    spec_axes,
)


@final
class _Infer:
    """The type of ``Infer``, for specs that follow from the arguments' types."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "jax.sharding.Infer"


Infer: Final = _Infer()

# Jaxprs of functions that were called eagerly, by function. The function is traced in each call,
# since its closure may have changed; an equal cached jaxpr replaces the new one.
_programs: ir.TracedFunctions[Any, tuple[ir.Jaxpr, Specs]] = ir.TracedFunctions(
    "programs on shards", 64
)


@overload
def shard_map[**P, R](
    f: Callable[P, R],
    /,
    *,
    out_specs: ir.PyTree,
    in_specs: ir.PyTree = ...,
    mesh: AnyMesh | None = None,
    axis_names: Set[Hashable] = ...,
    check_vma: bool = True,
) -> Callable[P, R]: ...


@overload
def shard_map(
    f: None = None,
    /,
    *,
    out_specs: ir.PyTree,
    in_specs: ir.PyTree = ...,
    mesh: AnyMesh | None = None,
    axis_names: Set[Hashable] = ...,
    check_vma: bool = True,
) -> Decorator: ...


@ir.api_boundary
def shard_map(
    f: Callable[..., Any] | None = None,
    /,
    *,
    out_specs: ir.PyTree,
    in_specs: ir.PyTree = Infer,
    mesh: AnyMesh | None = None,
    axis_names: Set[Hashable] = frozenset(),
    check_vma: bool = True,
) -> Any:
    """Return a function that runs ``f`` on every device of a mesh, on its shards of the arguments.

    Inside, collectives such as ``psum`` exchange values between devices. Outside of ``jit`` the
    function is compiled as a whole, and ``print(shard)`` shows what each device holds.

    Args:
      f: a function of pytrees of shards. Without it, a decorator is returned.
      out_specs: a ``PartitionSpec`` for the results, or a pytree of them that is a prefix of the
        result of ``f``: how the shards that it returns are joined.
      in_specs: likewise for the tuple of arguments: how they are split. ``None`` replicates an
        argument. By default, the shardings of the arguments' types, on a mesh
        with ``Explicit`` axes.
      mesh: the mesh; by default the one that ``set_mesh`` has set.
      axis_names: the axes of the mesh that are manual in ``f``; by default, all that are not manual
        in an enclosing ``shard_map``. The compiler partitions over the others.
      check_vma: whether the types inside record along which axes values vary, and ``out_specs`` are
        checked against that. It also makes derivatives need less communication.

    Returns:
      A function of the whole arrays. A dimension that a spec shards over an axis of ``n`` devices
      has ``1/n`` of its size inside, and keeps its place.

    Raises:
      ValueError: if there is no mesh, or specs do not fit the mesh, the arguments or the results.

    Example:
      Each device subtracts the mean of the whole from its own shard. Four numbers over two devices,
      or over one where there is no other:

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci import P, lax
      >>> devices = ricci.devices()[:2]
      >>> mesh = ricci.make_mesh((len(devices),), ("i",), devices=devices)
      >>> @ricci.shard_map(mesh=mesh, in_specs=P("i"), out_specs=(P("i"), P()))
      ... def center(shard):
      ...     mean = lax.pmean(jnp.mean(shard), "i")
      ...     return shard - mean, mean
      >>> x = ricci.device_put(jnp.array([1.0, 2.0, 3.0, 6.0]), ricci.NamedSharding(mesh, P("i")))
      >>> centered, mean = center(x)
      >>> centered.tolist(), float(mean)
      ([-2.0, -1.0, 0.0, 3.0], 3.0)

    Notes:
      ``out_specs=P()`` claims that all devices have the same value. With ``check_vma`` that is
      checked: without the ``pmean`` above an error reports that ``mean`` varies along ``"i"``.

      The axes of ``make_mesh`` are ``Explicit``: arguments are moved to ``in_specs`` by
      ``device_put`` or ``reshard``, else an error is raised. With ``Auto`` axes (those of ``Mesh``)
      the call moves them.

      A shard keeps the sharded dimension, also where it has size 1, unlike an example under
      ``vmap``.

    See also:
      ``jit`` with shardings, which leaves the communication to the compiler; ``smap``; ``vmap``
      with ``axis_name``, which tries the same collectives on one device.
    """
    if f is None:
        return lambda g: shard_map(
            g,
            out_specs=out_specs,
            in_specs=in_specs,
            mesh=mesh,
            axis_names=axis_names,
            check_vma=check_vma,
        )
    name = getattr(f, "__name__", type(f).__name__)

    @ir.looks_like(f)
    @ir.api_boundary
    def on_mesh(*args: object) -> Any:
        fun, args, given_specs = _bind_objects(f, args, in_specs)
        call_mesh, manual = _mesh_and_axes(name, mesh, _as_axes(name, axis_names))
        leaves, tree = pytree.tree_flatten(args)
        avals, names = _types_of(name, fun, args, leaves)
        specs = _in_specs(name, given_specs, tree, leaves, call_mesh, manual)
        check_inputs(name, specs, avals, names, call_mesh, manual)
        _check_explicit(name, specs, avals, names, call_mesh, manual)
        call = _Call(fun, name, call_mesh, manual, check_vma, out_specs, specs, leaves)
        jaxpr, consts, results, out_tree = call.trace(tree, avals, names)
        outs = call.bind(jaxpr, consts, results)
        if isinstance(call_mesh, xla.Mesh):
            outs = [
                _with_spec_of_user(x, call_mesh, spec)
                for x, spec in zip(outs, results, strict=True)
            ]
        return pytree.tree_unflatten(out_tree, outs)

    return on_mesh


def _with_spec_of_user(x: ir.Array, mesh: xla.Mesh, spec: xla.PartitionSpec) -> ir.Array:
    """Give a result that is an array the sharding whose spec is as the user wrote it.

    The executable's is equivalent, without axes of size one or ``None`` at the end.
    """
    if isinstance(x, ir.Tracer) or ir.is_extended(x.dtype) or x.weak_type:
        return x
    sharding = xla.NamedSharding(mesh, spec, memory_kind=x.sharding.memory_kind)
    if x.sharding == sharding or not x.sharding.is_equivalent_to(sharding, x.ndim):
        return x
    # The shards are the same, so no data moves: a new array refers to the same buffers.
    parts = [shard.data for shard in x.addressable_shards]
    return xla.make_array_from_single_device_arrays(x.shape, sharding, parts)


def _bind_objects(
    fun: Callable[..., Any], args: tuple[Any, ...], in_specs: ir.PyTree
) -> tuple[Callable[..., Any], tuple[Any, ...], ir.PyTree]:
    """Bind the arguments that hold other objects than arrays, whose entry of ``in_specs`` is None.

    Returns:
      The function of the other arguments, these, and their entries of ``in_specs``.
    """
    if not (isinstance(in_specs, tuple | list) and len(in_specs) == len(args)):
        return fun, args, in_specs
    bound = {
        i: arg
        for i, (spec, arg) in enumerate(zip(in_specs, args, strict=True))
        if spec is None and not all(map(_has_type, pytree.tree_leaves(arg)))
    }
    if not bound:
        return fun, args, in_specs

    def of_arrays(*arrays: object) -> object:
        others = iter(arrays)
        return fun(*(bound[i] if i in bound else next(others) for i in range(len(args))))

    free = [i for i in range(len(args)) if i not in bound]
    return of_arrays, tuple(args[i] for i in free), tuple(in_specs[i] for i in free)


def _has_type(x: object) -> bool:
    try:
        ir.get_aval(x)
    except TypeError:
        return False
    return True


def _types_of(
    function: str, fun: Callable[..., Any], args: tuple[Any, ...], leaves: Sequence[Any]
) -> tuple[list[Any], list[str]]:
    """Return the types of arguments, and their names for errors."""
    names = pytree.argument_paths(args, {}, fun)
    avals: list[Any] = []
    for x, path in zip(leaves, names, strict=True):
        try:
            avals.append(ir.get_aval(x))
        except TypeError as error:
            raise TypeError(f"shard_map of {function}: argument {path}: {error}") from None
    return avals, names


def _as_axes(function: str, axis_names: object) -> ir.AxisNames:
    if not isinstance(axis_names, Set):
        raise TypeError(
            f"shard_map of {function}: axis_names must be a set of mesh axes, got {axis_names!r} "
            f"of type {type(axis_names).__name__}. Write {{'x'}}."
        )
    return frozenset(axis_names)


def _mesh_and_axes(
    function: str, argument: AnyMesh | None, chosen: ir.AxisNames
) -> tuple[AnyMesh, ir.AxisNames]:
    """Return the mesh of a call, and the axes that become manual.

    The mesh must equal the one in force, if any. The manual axes of an enclosing ``shard_map``
    stay manual.
    """
    in_force = ir.current_mesh.value
    mesh = in_force if argument is None else argument
    if mesh is None:
        raise ValueError(
            f"shard_map of {function}: the context mesh cannot be empty. Call it inside `with "
            "set_mesh(mesh):`, or pass mesh=."
        )
    if in_force is not None and mesh.abstract_mesh != in_force:
        advice = (
            "inside another shard_map"
            if in_force.manual_axes
            else "or call it inside `with set_mesh(mesh):`"
        )
        raise ValueError(
            f"shard_map of {function}: the context mesh {in_force} should match the mesh passed to "
            f"shard_map, {mesh}. Leave out mesh= {advice}."
        )
    names = frozenset(mesh.axis_names)
    if not chosen <= names:
        raise ValueError(
            f"shard_map of {function}: axis_names={set(chosen)} must be a subset of the mesh's "
            f"axes {mesh.axis_names}."
        )
    return mesh, (chosen or names) - frozenset(mesh.abstract_mesh.manual_axes)


def _in_specs(
    function: str,
    in_specs: ir.PyTree,
    tree: pytree.PyTreeDef,
    leaves: Sequence[ir.ArrayLike],
    mesh: AnyMesh,
    manual: ir.AxisNames,
) -> list[xla.PartitionSpec]:
    """Return the spec of each argument."""
    if in_specs is not Infer:
        entries = pytree.flatten_axes("shard_map in_specs", tree, in_specs)
        return [_as_spec(function, "in_specs", spec) for spec in entries]
    implicit = [n for n in mesh.abstract_mesh.auto_axes if n in manual]
    if implicit:
        raise TypeError(
            f"shard_map of {function}: in_specs can be left out only if all axes of the mesh are "
            f"Explicit, but {implicit} are Auto. Pass in_specs."
        )
    specs: list[xla.PartitionSpec] = []
    for x in leaves:
        aval = ir.get_aval(x)
        parts = aval.type_sharding.parts if aval.type_sharding is not None else ((),) * aval.ndim
        manual_parts = [tuple(n for n in part if n in manual) for part in parts]
        # By the types: the manual axes among those that each dimension is sharded over.
        specs.append(xla.PartitionSpec(*(p[0] if len(p) == 1 else p or None for p in manual_parts)))
    return specs


def _as_spec(function: str, which: str, spec: object) -> xla.PartitionSpec:
    if spec is None:
        return xla.PartitionSpec()
    if not isinstance(spec, xla.PartitionSpec):
        raise TypeError(
            f"shard_map of {function}: {which} must hold PartitionSpecs, got {spec!r} of type "
            f"{type(spec).__name__}. Write P('x', None)."
        )
    return spec


def _check_explicit(
    function: str,
    specs: Sequence[xla.PartitionSpec],
    avals: Sequence[Any],
    names: Sequence[str],
    mesh: AnyMesh,
    manual: ir.AxisNames,
) -> None:
    """Raise ``ValueError`` if an argument's type has other Explicit axes than its spec.

    If some axes do not become manual, arguments are moved, as JAX does.
    """
    kinds = zip(mesh.abstract_mesh.axis_names, mesh.abstract_mesh.axis_types, strict=True)
    explicit = frozenset(n for n, kind in kinds if kind is xla.AxisType.Explicit and n in manual)
    if not explicit or not manual.issuperset(mesh.axis_names):
        return
    for spec, aval, name in zip(specs, avals, names, strict=True):
        sharding = aval.type_sharding
        parts = sharding.parts if sharding is not None else ((),) * aval.ndim
        parts_of_type = [frozenset(part) & explicit for part in parts]
        # Auto axes are left out of the comparison, as types do not have them.
        parts_of_spec = [frozenset(spec_axes(part)) & explicit for part in spec]
        parts_of_spec += [frozenset()] * (aval.ndim - len(parts_of_spec))
        sums = (ir.no_axes, ir.no_axes) if sharding is None else sharding.sums
        claimed = (spec.unreduced & explicit, spec.reduced & explicit)
        if parts_of_type != parts_of_spec or (sums[0] & explicit, sums[1] & explicit) != claimed:
            raise ValueError(
                f"shard_map of {function}: in_specs {spec} does not match the sharding of argument "
                f"{name}, of type {aval.str_short(True)}. Leave out in_specs, which then follow "
                "from the arguments, or move the argument with reshard."
            )


class _Call:
    """One call: the function, its arguments, and the parts of its cache key other than their types.

    Attributes:
      in_specs: the spec of each leaf of the arguments.
      leaves: these leaves.
    """

    __slots__ = ("check_vma", "fun", "in_specs", "leaves", "manual", "mesh", "name", "out_specs")

    def __init__(
        self,
        fun: Callable[..., Any],
        name: str,
        mesh: AnyMesh,
        manual: ir.AxisNames,
        check_vma: bool,
        out_specs: ir.PyTree,
        in_specs: Sequence[xla.PartitionSpec],
        leaves: Sequence[ir.ArrayLike],
    ):
        self.fun = fun
        self.name = name
        self.mesh = mesh
        self.manual = manual
        self.check_vma = check_vma
        self.out_specs = out_specs
        self.in_specs = in_specs
        self.leaves = leaves

    def bind(
        self, jaxpr: ir.Jaxpr, consts: Sequence[ir.ArrayLike], out_specs: Specs
    ) -> list[ir.Array]:
        """Apply a jaxpr of shards, whose first arguments are constants."""
        return shard_map_p.bind(
            *consts,
            *self.leaves,
            check_vma=self.check_vma,
            in_specs=(*(xla.PartitionSpec(),) * len(consts), *self.in_specs),
            jaxpr=jaxpr,
            mesh=self.mesh,
            newly_manual_axes=self.manual,
            out_specs=out_specs,
        )

    def trace(
        self, tree: pytree.PyTreeDef, avals: Sequence[Any], names: Sequence[str]
    ) -> tuple[ir.Jaxpr, Sequence[Any], Specs, pytree.PyTreeDef]:
        """Return the jaxpr of shards, its constants, its out_specs and the results' tree."""
        shards = [
            shard_aval(aval, self.mesh, spec, self.manual, self.check_vma)
            for aval, spec in zip(avals, self.in_specs, strict=True)
        ]
        results: list[xla.PartitionSpec] = []
        out_tree: Any = None

        def flat(*xs: ir.Array) -> list[ir.ArrayLike]:
            nonlocal out_tree
            out = self.fun(*pytree.tree_unflatten(tree, xs))
            outs, out_tree = pytree.tree_flatten(out)
            ir.check_results(f"shard_map: {self.name}", outs, out)
            results[:] = self._result_specs(out, out_tree, outs)
            if not self.check_vma:
                return outs
            return [
                ir.cast_varying(x, named_axes_of(spec))
                for x, spec in zip(outs, results, strict=True)
            ]

        key = (tree, tuple(shards), self.mesh, self.manual, self.check_vma)
        kind: Callable[..., ir.JaxprTrace] = ir.JaxprTrace
        if not ir.is_recording() and not any(isinstance(x, ir.Tracer) for x in self.leaves):
            # Eager calls: a print inside needs values, for which the equations so far are run on
            # the devices, in the context from outside of the shard_map.
            states = (ir.current_mesh, ir.axis_sizes, ir.varying_axes)
            kind = partial(
                PrintingTrace,
                mesh=self.mesh,
                outside=[(state, state.value) for state in states],
                run=lambda jaxpr: self._stacked(jaxpr, shards, key),
            )
        info = ir.DebugInfo("shard_map", self.name, tuple(names))
        jaxpr = self._scoped_jaxpr(flat, shards, info, kind)
        closed = self._cached(jaxpr, key, tuple(results))
        return closed, jaxpr.consts, tuple(results), out_tree

    def _scoped_jaxpr(
        self,
        flat: Callable[..., Sequence[ir.ArrayLike]],
        shards: Sequence[Any],
        info: ir.DebugInfo,
        kind: Callable[..., ir.JaxprTrace] = ir.JaxprTrace,
    ) -> ir.Jaxpr:
        trace = lambda: ir.trace_to_jaxpr(flat, shards, info, kind=kind)
        return in_scope(self.mesh, self.manual, trace, self.check_vma)

    def _cached(self, jaxpr: ir.Jaxpr, key: tuple[Any, ...], out_specs: Specs) -> ir.Jaxpr:
        """Return the jaxpr with its constants as arguments, or an equal one of an earlier call.

        Executables are cached by the identity of the jaxpr, so that nothing is compiled again.
        """
        closed = ir.convert_constvars(jaxpr)
        if ir.is_recording() or any(isinstance(c, ir.Tracer) for c in jaxpr.consts):
            return closed
        cached = _programs.recall(self.fun, key)
        if cached is not None and cached[1] == out_specs and ir.same_program(cached[0], closed):
            return cached[0]
        _programs.put(self.fun, key, (closed, out_specs))
        return closed

    def _stacked(self, jaxpr: ir.Jaxpr, shards: Sequence[Any], key: tuple[Any, ...]) -> ir.Array:
        """Apply a jaxpr of shards with one result, and stack the devices' results."""
        axes = tuple(name for name in self.mesh.axis_names if name in self.manual)

        def flat(*xs: ir.Array) -> list[ir.ArrayLike]:
            (value,) = ir.eval_jaxpr(jaxpr, jaxpr.consts, *xs)
            stacked = expand_dims(value, (0,))
            return [ir.cast_varying(stacked, self.manual) if self.check_vma else stacked]

        traced = self._scoped_jaxpr(flat, shards, jaxpr.debug_info)
        out_specs = (xla.PartitionSpec(axes),)
        # Different values of one function have different numbers of equations ahead of them.
        closed = self._cached(traced, (*key, len(jaxpr.eqns), jaxpr.out_avals[0]), out_specs)
        return self.bind(closed, traced.consts, out_specs)[0]

    def _result_specs(
        self, out: ir.PyTree, tree: pytree.PyTreeDef, outs: Sequence[ir.ArrayLike]
    ) -> list[xla.PartitionSpec]:
        entries = pytree.flatten_axes("shard_map out_specs", tree, self.out_specs)
        specs = [_as_spec(self.name, "out_specs", spec) for spec in entries]
        paths = [
            f" at {pytree.keystr(path)}" if path else ""
            for path, _ in pytree.tree_flatten_with_path(out)[0]
        ]
        avals: list[Any] = [ir.get_aval(x) for x in outs]
        check_outputs(self.name, specs, avals, paths, self.mesh, self.manual, self.check_vma)
        return specs
