"""Trace a call for a tool, or compile it with the user's lines in the HLO text, for reports."""

from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Any

from ricci_ir import Jaxpr, TupleRecord, array_call, context, has_stages, is_typed, preserved
from ricci_pytree import tree_flatten, tree_leaves, tree_unflatten
from ricci_xla.compile._claims import meshes_of
from ricci_xla.compile._compile import UNOPTIMIZED, compile_lowered
from ricci_xla.compile._executable import Executable
from ricci_xla.compile._lower import argument_names, lower_program
from ricci_xla.compile._place import Options, Placement, place
from ricci_xla.devices._runtime_types import Device
from ricci_xla.meshes import Mesh, NamedSharding, Sharding
from ricci_xla.tracing._program import Program

from ._jit import jit
from ._stages import Traced

__all__ = [
    "LocatedProgram",
    "compile_for_sizes",
    "compile_with_lines",
    "devices_of",
    "is_spread",
    "trace_call",
]


class LocatedProgram(TupleRecord):
    """An executable whose HLO text names the lines of the user's code.

    Attributes:
      executable: the executable.
      jaxpr: the jaxpr; its constants are leading arguments.
      arg_names: the user's name for each argument, as in the text.
      out_shardings: the specified sharding of each result, if any.
      devices: the devices, in the executable's order.
      meshes: the meshes of arguments, operations and results.
    """

    executable: Executable
    jaxpr: Jaxpr
    arg_names: tuple[str, ...]
    out_shardings: tuple[Sharding | None, ...]
    devices: tuple[Device, ...]
    meshes: tuple[Mesh, ...]

    @property
    def text(self) -> str:
        """The optimized HLO text."""
        return self.executable.as_text()


def is_spread(jaxpr: Jaxpr, arrays: Sequence[Any]) -> bool:
    """Whether a call's arguments or operations are on several devices.

    Args:
      jaxpr: the jaxpr.
      arrays: the arguments, or descriptions of them.
    """
    shardings = (getattr(x, "sharding", None) for x in arrays)
    return any(isinstance(s, Sharding) and s.num_devices > 1 for s in shardings) or any(
        mesh.size > 1 for mesh in meshes_of(jaxpr)
    )


def devices_of(traced: Traced) -> tuple[Device, ...]:
    """Return the devices on which a traced call would run."""
    return place(*traced.discharged_call()).devices


def compile_with_lines(traced: Traced) -> LocatedProgram:
    """Compile a traced call with the lines of the user's code in the HLO text, for reports.

    Machine code for CPUs is not optimized, which is faster: XLA optimizes the module
    and assigns its memory before, so the HLO text, the costs and the sizes are the same.
    """
    program, leaves, options = traced.discharged_call()
    placement = place(program, leaves, options)
    jaxpr = program.jaxpr
    return LocatedProgram(
        executable=_compile_unoptimized(program, placement, options, sources=True),
        jaxpr=jaxpr,
        arg_names=tuple(argument_names(program, range(len(jaxpr.invars)))),
        out_shardings=options.out_shardings or (None,) * len(jaxpr.outvars),
        devices=placement.devices,
        meshes=tuple(dict.fromkeys(_meshes(jaxpr, placement))),
    )


def compile_for_sizes(traced: Traced) -> Executable:
    """Compile a traced call for its sizes and costs alone, as ``compile_with_lines`` does.

    Without the lines of the user's code, which take a fifth of the time.
    """
    program, leaves, options = traced.discharged_call()
    placement = place(program, leaves, options)
    return _compile_unoptimized(program, placement, options, sources=False)


def _compile_unoptimized(
    program: Program, placement: Placement, options: Options, *, sources: bool
) -> Executable:
    # Reports read the HLO module, whose optimization is another stage than that of machine code.
    if all(device.platform == "cpu" for device in placement.devices):
        flags = UNOPTIMIZED | dict(options.compiler_options)
        options = options._replace(compiler_options=tuple(sorted(flags.items())))
    lowered = lower_program(program, placement, options, sources=sources)
    return compile_lowered(program, lowered, options).executable


def _meshes(jaxpr: Jaxpr, placement: Placement) -> Iterator[Mesh]:
    """Yield the meshes of arguments, results and operations, with repetitions."""
    for sharding in placement.shardings:
        if isinstance(sharding, NamedSharding) and isinstance(sharding.mesh, Mesh):
            yield sharding.mesh
    yield from meshes_of(jaxpr)
    if placement.mesh is not None:
        yield placement.mesh


def trace_call(fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Traced:
    """Trace a call without changing the user's objects.

    Args:
      fun: a function of ``jit``'s, which is traced with its own options, or anything else that can
        be called.
      args: its arguments. Those of a function that is not jitted may have leaves that are not
        arrays, which are passed unchanged; its results may have such leaves then, which are left
        out. Arrays that it writes into objects, its arguments or others, are further results.
      kwargs: its keyword arguments, likewise.
    """
    with preserved(fun, args, kwargs) as objects:
        if has_stages(fun):
            jitted: Any = fun
            return jitted.trace(*args, **kwargs)
        # Objects that are not arrays, such as strings in a model's pytree, are closed over, as
        # ``jit`` takes arrays only.
        form, arrays = array_call(fun, args, kwargs)

        @wraps(fun)
        def call(*args: object, **kwargs: object) -> Any:
            result, state = form.results_and_state(fun, tree_leaves((args, kwargs)))
            trace = context.trace
            state += [x for _, x in objects.replaced_arrays() if x._trace is trace]
            # Results may hold such leaves again, as a library's updated model does.
            results, tree = tree_flatten(result)
            result = tree_unflatten(tree, [x if is_typed(x) else None for x in results])
            return (result, state) if state else result

        args, kwargs = form.without_fixed(arrays)[0]
        return jit(call).trace(*args, **kwargs)
