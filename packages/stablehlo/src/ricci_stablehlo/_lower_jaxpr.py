"""The StableHLO module of a jaxpr, with the attributes of its arguments and results."""

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

import ricci_ir as ir

from ._host_checks import HostChecks
from ._huge_pages import place_on_huge_pages
from ._locations import Locations, SourceLocations
from ._lowering import lower_function
from ._module import MeshAxes, Module
from ._ordering import ordered_among, thread_tokens
from ._types import string
from ._values import HostCallback

__all__ = ["lower_jaxpr", "lower_module"]


def lower_module(
    jaxpr: ir.Jaxpr,
    name: str,
    *,
    platform: str = "cpu",
    aliases: Mapping[int, int] | None = None,
    donors: Sequence[int] = (),
    axis_sizes: Mapping[Hashable, int] | None = None,
    num_replicas: int = 1,
    num_partitions: int = 1,
    result_info: Sequence[str] | None = None,
    arg_attributes: Sequence[Sequence[str]] | None = None,
    result_attributes: Sequence[Sequence[str]] | None = None,
    meshes: Mapping[MeshAxes, str] | None = None,
    locations: bool | Literal["sources"] = False,
    shardy: bool = True,
    host_callbacks: list[HostCallback] | None = None,
    host_checks: HostChecks | None = None,
    devices: Sequence[Any] = (),
    kind: str = "jit",
    embed_constants: bool = False,
    large_constants: list[np.ndarray] | None = None,
    arg_names: Sequence[str] = (),
    uses_host_memory: bool = False,
    manual: bool = False,
    calls_native_kernels: bool = False,
    new_results: Collection[int] = (),
) -> Module:
    """Return the StableHLO module that computes a jaxpr.

    If the jaxpr has ordered effects and runs on one device, ``@main`` takes one token for each of
    them ahead of its other arguments, and returns one for each ahead of its other results.

    Args:
      jaxpr: the jaxpr. Its constants become leading arguments of ``@main``.
      name: the function's name. The module is called ``<kind>_<name>``.
      platform: the platform on which the module will run.
      aliases: maps each argument whose buffer a result reuses to the position of that result.
      donors: arguments whose buffers any result may reuse.
      axis_sizes: the named axes in scope, major to minor, laid out over the replicas.
      num_replicas, num_partitions: the product of the two is the number of devices.
      result_info: the user's name for each result.
      arg_attributes, result_attributes: further attribute texts for each argument and result.
      meshes: maps the axes of the device meshes in those texts to the symbols used there.
      locations: whether each operation has a location: its primitive and scopes, shown in profiles;
        with ``"sources"`` also the line of the user's code.
      shardy: whether shardings are written by mesh axes (Shardy) instead of by tiles (GSPMD).
      host_callbacks: a list to which the module's host callbacks are appended; the module refers to
        them by their index in it.
      host_checks: an object for the module's checks; by default it has none.
      devices: the devices on which the module will run, if known.
      kind: the transformation, a prefix of the module's name.
      embed_constants: whether the constants are written into the text instead of becoming
        arguments.
      large_constants: a list to which large constants are appended; the text has zeros in their
        place, with their position in the list as the attribute ``ricci.constant``.
      arg_names: the user's name for each argument: its location, if ``locations="sources"``.
      uses_host_memory: whether an argument may be in host memory. Transfers to host memory in the
        jaxpr are detected.
      manual: whether the jaxpr runs per device, on shards.
      calls_native_kernels: whether operations may be calls of kernels that this process registers.
      new_results: the results in new memory of the default layout.

    Returns:
      The module, whose ``text`` prints it.

    Raises:
      ValueError: if the jaxpr has effects that are not lowerable.
      NotImplementedError: if it takes references.
    """
    if ir.uses_references(jaxpr.effects):
        if ir.reference_arguments(jaxpr):
            raise NotImplementedError(
                f"{kind}: {name} takes references, which are not lowered. Pass the arrays that "
                "they hold, or lower the jaxpr that ricci_ir.discharged returns."
            )
        jaxpr = ir.discharged(jaxpr).jaxpr
    if jaxpr.effects:
        # Effects that have no lowering are rejected here, before any text is written.
        ir.lowerable_effects.require(f"{kind}: {name}", jaxpr.effects, ValueError)
    # Constants then lead the arguments, and the caller passes them; the text stays small and is the
    # same for other values.
    if not embed_constants:
        jaxpr = _with_leading_consts(jaxpr)
    module = Module(
        name,
        platform,
        axis_sizes or {},
        _locations(locations),
        num_partitions,
        shardy,
        write=lower_function,
    )
    module.num_replicas = num_replicas
    module.devices = devices
    module.manual = manual
    module.calls_native_kernels = calls_native_kernels
    module.only_operation = _only_operation(jaxpr) if calls_native_kernels else None
    module.uses_host_memory = uses_host_memory or ir.moves_to_host(jaxpr)
    module.large_constants = large_constants
    shapes = (getattr(aval, "shape", ()) for aval in jaxpr.in_avals)
    # Other dimensions of the jaxpr depend on those of its arguments, so that these decide.
    module.symbolic = not all(map(ir.is_static_shape, shapes))
    if host_callbacks is not None:
        module.host_callbacks = host_callbacks
    if host_checks is not None:
        module.host_checks = host_checks
    # On one device, tokens are passed from one executable to the next. Over several partitions the
    # module creates its tokens, which order the effects within one call.
    tokens = len(ordered_among(jaxpr.effects))
    passed_tokens = tokens if num_partitions == 1 else 0
    # The name is reserved, so that a function of the user's that is called main gets another one.
    module.names["main"] = 0
    for axes, symbol in (meshes or {}).items():
        module.meshes[axes] = module.unique_name(symbol)
    attributes = [list(a) for a in arg_attributes] if arg_attributes else [[] for _ in jaxpr.invars]
    for argument, result in (aliases or {}).items():
        # Results are counted with the tokens, which come first.
        attributes[argument].append(f"tf.aliasing_output = {result + passed_tokens} : i32")
    # A donor's memory may be reused for any result; the compiler chooses which.
    for argument in donors:
        attributes[argument].append("jax.buffer_donor = true")
    outs = (
        [list(a) for a in result_attributes] if result_attributes else [[] for _ in jaxpr.outvars]
    )
    for texts, info in zip(outs, result_info or (), strict=False):
        texts.insert(0, f"jax.result_info = {string(info)}")
    source_locations = module.locations if isinstance(module.locations, SourceLocations) else None
    arg_locations = [] if source_locations is None else map(source_locations.argument, arg_names)
    arg_locations = [*[""] * passed_tokens, *arg_locations]
    placed = frozenset(i + passed_tokens for i in new_results)
    main = lower_function(
        module,
        thread_tokens(jaxpr) if tokens else jaxpr,
        "main",
        "public",
        scope=f"{kind}({name})/",
        new_tokens=tokens - passed_tokens,
        arg_names=arg_names,
        finish=lambda ctx, body: place_on_huge_pages(ctx, body, placed),
    )
    token_attributes = [["jax.token = true"]] * passed_tokens
    # Tokens lead the arguments and results of ``@main`` as well.
    main.arg_attributes = [*token_attributes, *attributes]
    main.result_attributes = [*token_attributes, *outs]
    main.arg_locations[: len(arg_locations)] = arg_locations
    module.main = main
    module.name = module.unique_name(f"{kind}_{name}").rstrip("_")
    return module


def lower_jaxpr(jaxpr: ir.Jaxpr, name: str, **options: Any) -> str:
    """Return the text of the StableHLO module that computes a jaxpr; see ``lower_module``."""
    return lower_module(jaxpr, name, **options).text()


def _locations(kind: bool | Literal["sources"]) -> Locations | None:
    if kind == "sources":
        return SourceLocations()
    return Locations() if kind else None


def _with_leading_consts(jaxpr: ir.Jaxpr) -> ir.Jaxpr:
    if not jaxpr.constvars:
        return jaxpr
    return jaxpr.replace(constvars=(), consts=(), invars=[*jaxpr.constvars, *jaxpr.invars])


def _only_operation(jaxpr: ir.Jaxpr) -> tuple[str, ir.AbstractValue] | None:
    """Return the primitive's name and the result's type, if a jaxpr applies one without jaxprs.

    A composite whose lowering names an operation counts as a primitive of this name.
    """
    lowerings = ir.staged_call.lowerings
    while len(jaxpr.eqns) == 1 or jaxpr in lowerings:
        operation = getattr(lowerings.get(jaxpr), "operation", None)
        if operation is not None:
            return operation, jaxpr.outvars[0].aval
        if len(jaxpr.eqns) != 1:
            return None
        (eqn,) = jaxpr.eqns
        program = ir.program_rules.get(eqn.primitive)
        if program is None:
            is_single = len(eqn.outvars) == 1 and next(ir.subjaxprs(jaxpr), None) is None
            return (eqn.primitive.name, eqn.outvars[0].aval) if is_single else None
        jaxpr = program(**eqn.params)[0]
    return None
