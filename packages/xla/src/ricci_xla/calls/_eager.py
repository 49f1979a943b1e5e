"""The XLA backend: evaluates primitives, each compiled once for its parameters and types."""

import weakref
from collections.abc import Callable, Sequence
from functools import partial
from itertools import zip_longest
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_ir import Array, Jaxpr, Primitive, ShapedArray, Tracer
from ricci_pytree import PyTreeDef, tree_leaves, tree_structure, tree_unflatten
from ricci_xla.arrays import ArrayImpl, array_from_host, from_dlpack
from ricci_xla.arrays._donation import name_repeated
from ricci_xla.compile._compile import compile_program
from ricci_xla.compile._dispatch import FastPath, make_fast_callable
from ricci_xla.compile._effects import runtime_tokens
from ricci_xla.compile._place import Options
from ricci_xla.compile._value_checks import check_host_results, checks_results
from ricci_xla.devices import Device, JaxRuntimeError, device_mesh, local_devices
from ricci_xla.devices._jaxlib_options import unguarded
from ricci_xla.meshes._current_mesh import default_sharding
from ricci_xla.tracing._program import Program

from . import _first_calls as first_calls

__all__ = ["XlaBackend", "xla_backend"]

_leaf = tree_structure(0)
_INTEGERS = frozenset({int, bool})
_MAY_HAVE_JAXPRS = frozenset({Jaxpr, tuple})  # types of parameters that are or contain jaxprs


def _list_tree(count: int) -> PyTreeDef:
    return tree_structure([0] * count)


class XlaBackend:
    """Evaluates primitives by executables, which jaxlib's C++ dispatcher calls."""

    name = "xla"

    def __init__(self):
        self._callables: ir.Cache[Any, Callable[..., Any]] = ir.Cache("single operations", 4096)

    def evaluate(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Apply a primitive to arrays, NumPy arrays or scalars."""
        rule = ir.program_rules.get(primitive)
        if rule is not None:
            if ir.eager_rules.get(primitive) is ir.as_equation:
                owner = next(ir.jaxprs_in_params(params))
                return _callable_of(owner, primitive, params)(*args)
            jaxpr, name = rule(**params)
            return _jaxpr_callable(jaxpr, name, params.get("donated_invars", ()))(*args)
        try:
            function = self._callables.entries.get(
                (primitive, *params.items()) if params else primitive
            )
        except TypeError:  # a parameter that cannot be hashed
            function = None
        if function is None:
            if primitive not in ir.host_rules and primitive not in ir.eager_rules:
                owner = next(ir.jaxprs_in_params(params), None)
                if owner is not None:
                    return _callable_of(owner, primitive, params)(*args)
            function = self.operation(primitive, params)
        return function(*args)

    def operation(self, primitive: Primitive, params: dict[str, Any]) -> Callable[..., Any]:
        """Return a function that applies a primitive with these parameters.

        Some primitives have a rule for it: a jaxpr, a Python function on the host, or a Python
        function of arrays. The others are compiled as a jaxpr of one equation.
        """
        rule = ir.program_rules.get(primitive)
        if rule is not None:
            return lambda *args: self.evaluate(primitive, args, params)
        host = ir.host_rules.get(primitive)
        if host is not None:
            return lambda *args: _on_host(primitive, host, args, params)
        eager = ir.eager_rules.get(primitive)
        if eager is not None:
            return lambda *args: _eagerly(primitive, eager, args, params)
        # With a jaxpr among the parameters, the function is cached on the jaxpr and freed with it.
        owner = next(ir.jaxprs_in_params(params), None)
        if owner is not None:
            return lambda *args: self.evaluate(primitive, args, params)
        key = (primitive, *params.items()) if params else primitive
        make = partial(_primitive_callable, primitive, params)
        try:
            return self._callables.make(key, make)
        except TypeError:  # a parameter that cannot be hashed: compiled for each call
            return make()

    def dispatcher(self, composite: ir.OneStep) -> Callable[..., Any]:
        """Return a function that applies a composite; C++ dispatches its cached calls."""
        return _composite_callable(composite)

    def public_dispatcher(self, function: ir.DispatchedFunction) -> Callable[..., Any]:
        """Return a function that calls a public one; C++ dispatches its cached calls."""
        return _public_callable(function)

    def array(self, value: object, aval: ShapedArray) -> Array:
        """Return a NumPy array's values as an array on the current mesh or the default device."""
        sharding = None if device_mesh.value is None else default_sharding()
        if not ir.is_recording():
            return array_from_host(np.asarray(value), aval, sharding)
        with unguarded():
            return array_from_host(np.asarray(value), aval, sharding)

    def from_dlpack(self, x: object, device: Any, copy: bool | None) -> Array:
        """Import an array of another library, sharing its memory if possible."""
        return from_dlpack(x, device, copy)

    def devices(self) -> tuple[Device | None, ...]:
        """Return ``None``, which means the default device, and this process's devices."""
        return (None, *local_devices())

    def clear(self) -> None:
        """Clear all jaxprs and executables."""
        ir.clear_caches()


def _eagerly(
    primitive: Primitive, rule: Callable[..., Any], args: tuple[Any, ...], params: dict[str, Any]
) -> Any:
    """Apply a primitive by a Python function of arrays."""
    trace = _trace_of(args, primitive)
    if trace is not None:
        return _in_trace(trace, primitive, args, params)
    return rule(*args, **params)


def _on_host(
    primitive: Primitive, rule: Callable[..., Any], args: tuple[Any, ...], params: dict[str, Any]
) -> list[Any]:
    """Apply a primitive that calls Python, such as a callback, without compiling it."""
    trace = _trace_of(args, primitive)
    if trace is not None:
        return _in_trace(trace, primitive, args, params)
    if not all(map(_is_addressable, args)):  # reading an array of several processes is collective
        return _primitive_callable(primitive, params)(*args)
    # Earlier executables with ordered effects may still be running.
    if primitive.effects is not None and any(e.ordered for e in primitive.effects(params)):
        runtime_tokens.wait()
    try:
        with ir.ensure_compile_time_eval(), runtime_tokens.inside_callback():
            results = rule(*args, **params)
    except ir.CallbackError as error:
        raise JaxRuntimeError(f"INTERNAL: {error}") from error.__cause__
    avals = primitive.result_avals(tuple(map(ir.get_aval, args)), params)
    sharding = next((x.sharding for x in args if getattr(x, "committed", False)), None)
    if sharding is not None and sharding.num_devices > 1:
        sharding = None
    if sharding is None and device_mesh.value is not None:
        sharding = default_sharding()
    arrays = [array_from_host(x, aval, sharding) for x, aval in zip(results, avals, strict=True)]
    if checks_results():
        check_host_results(primitive, arrays)
    return arrays


def _is_addressable(x: object) -> bool:
    """Whether all of a value's devices belong to this process."""
    sharding = getattr(x, "sharding", None)
    return sharding is None or sharding.is_fully_addressable


def _callable_of(owner: Jaxpr, primitive: Primitive, params: dict[str, Any]) -> Callable[..., Any]:
    """Return a function that applies a primitive, cached on a jaxpr among its parameters.

    It refers to jaxprs weakly, so that the owner can be freed; callers hold the parameters.
    """
    weak = [_weak(value) if type(value) in _MAY_HAVE_JAXPRS else value for value in params.values()]
    make = lambda: _primitive_callable(primitive, dict(zip(params, weak, strict=True)))
    try:
        return owner.derived((primitive, *params, *weak), make)
    except TypeError:  # a parameter that cannot be hashed: compiled for each call
        return make()


def _weak(value: object) -> Any:
    """Replace the jaxprs in a parameter by weak references."""
    if type(value) is Jaxpr:
        return weakref.ref(value)
    if type(value) is tuple and Jaxpr in map(type, value):
        return tuple(map(_weak, value))
    return value


def _strong(value: object) -> Any:
    """Invert ``_weak``; valid as long as the jaxprs live."""
    if isinstance(value, weakref.ref):
        return value()
    if type(value) is tuple and any(isinstance(x, weakref.ref) for x in value):
        return tuple(map(_strong, value))
    return value


def _primitive_callable(primitive: Primitive, weak: dict[str, Any]) -> Callable[..., Any]:
    """Return a function that applies a primitive: by NumPy at first, then by an executable.

    Args:
      primitive: the primitive.
      weak: its parameters, with weak references in place of jaxprs.
    """
    many = primitive.multiple_results
    # For each combination of operand types, the number of calls that NumPy has computed.
    calls: ir.Cache[Any, int] = ir.Cache("first calls", 256)

    def on_miss(*args: Any) -> tuple[Any, FastPath | None]:
        trace = _trace_of(args, primitive)
        params = {name: _strong(value) for name, value in weak.items()}
        if trace is not None:
            return _in_trace(trace, primitive, args, params), None
        avals = tuple(ir.get_aval(x) for x in args)
        before = calls.recall(avals) or 0
        if before < first_calls.CALLS:
            outs = first_calls.compute(primitive, avals, args, params)
            count = first_calls.CALLS if outs is None else before + 1
            calls.put(avals, count)
            if before and count == first_calls.CALLS:
                # The dispatcher has cached that such calls go to Python; from now on there is an
                # executable for them.
                this()._clear_cache()  # pyright: ignore[reportOptionalMemberAccess]
            if outs is not None:
                return (outs if many else outs[0]), None
        jaxpr = None
        if next(ir.jaxprs_in_params(params), None) is None:
            jaxpr = ir.single_equation(primitive, avals, params)
        if jaxpr is None:
            jaxpr = ir.equation_program(primitive, avals, params)
        tree = _list_tree(len(jaxpr.outvars)) if many else _leaf
        outs, fast = _run(jaxpr, primitive.name, tree, args)
        return (outs if many else outs[0]), fast

    function = make_fast_callable(primitive.name, on_miss)
    this = weakref.ref(function)
    return function


def _jaxpr_callable(jaxpr: Jaxpr, name: str, donated: tuple[bool, ...]) -> Callable[..., Any]:
    """Return a function that runs a jaxpr, cached on it; callers must hold the jaxpr.

    Args:
      jaxpr: the jaxpr.
      name: its name.
      donated: for each argument, whether it is donated; empty for none.
    """
    make = lambda: _make_jaxpr_callable(weakref.ref(jaxpr), name, donated)
    return jaxpr.derived(("callable", donated) if donated else "callable", make)


def _make_jaxpr_callable(
    owner: weakref.ref[Jaxpr], name: str, donated: tuple[bool, ...]
) -> Callable[..., Any]:
    def on_miss(*args: object) -> tuple[Any, FastPath | None]:
        jaxpr = owner()
        assert jaxpr is not None, "the caller holds the jaxpr"
        trace = _trace_of(args, None)
        if trace is not None:
            with ir.set_trace(trace):
                return ir.eval_jaxpr(jaxpr, (), *args), None
        options = Options()
        if donated and not checks_results():
            options = Options(donated=(False,) * len(consts) + donated)
            names = [f"args[{i}]" for i in range(len(args))]
            name_repeated(name, names, args, options.donated)
        return _run(ir.convert_constvars(jaxpr), name, tree, args, options)

    jaxpr = owner()
    assert jaxpr is not None, "the caller holds the jaxpr"
    tree, consts = _list_tree(len(jaxpr.outvars)), jaxpr.consts
    del jaxpr
    call = make_fast_callable(name, on_miss)
    return (lambda *args: call(*consts, *args)) if consts else call


def _composite_callable(composite: ir.OneStep) -> Callable[..., Any]:
    def on_miss(static: tuple[tuple[str, Any], ...], *args: object) -> tuple[Any, FastPath | None]:
        settings = dict(static)
        trace = _trace_of(args, None)
        if trace is not None:
            with ir.set_trace(trace):
                return composite.apply(args, settings), None
        if ir.disable_jit_state.value:
            return composite.apply(args, settings), None
        step = composite.step(args, settings)
        operands = [x for x in args if x is not None]
        tree = _leaf if step.single else tree_structure((0,) * len(step.jaxpr.outvars))
        # An array that is used by its type alone still determines the result's device. Numbers of
        # which the type alone is used are not copied to it.
        options = Options(keep_unused=any(hasattr(type(x), "aval") for x in operands))
        if composite.donates and not checks_results():
            options = _donating(operands, len(step.jaxpr.outvars))
        outs, fast = _run(step.jaxpr, composite.name, tree, operands, options)
        # Some libraries pass objects that wrap an array (flax's variables). The C++ dispatcher
        # would unwrap them, so calls with such arguments stay in Python.
        plain = all(a is b for a, b in zip_longest(operands, tree_leaves(args)))
        return step.packed(outs), fast if plain else None

    return make_fast_callable(composite.name, on_miss, static_argnums=(0,))


def _public_callable(function: ir.DispatchedFunction) -> Callable[..., Any]:
    # By the types and settings of a call, how many times the function itself ran. The first calls
    # do, since a few simple operations are computed by NumPy.
    calls: ir.Cache[Any, int] = ir.Cache("first calls", 256)

    # The types of positional arrays for which the function has no executable, as where it returns
    # an operand: the dispatcher sends each such call here.
    undispatched: ir.Cache[Any, bool] = ir.Cache("undispatched calls", 256)

    def on_miss(*args: object, **kwargs: object) -> tuple[Any, FastPath | None]:
        types = None if kwargs else _types_of(args)
        if types in undispatched.entries or ir.disable_jit_state.value:
            return function.apply(args, kwargs), None
        arguments = (*enumerate(args), *kwargs.items())
        operands = [x for place, x in arguments if place not in function.without_choice]
        # Integers may decide what a function does, unlike the values of arrays and floats.
        if any(type(x) in _INTEGERS for x in operands):
            return function.apply(args, kwargs), None
        call = function.read(args, kwargs)
        if call is None or not _are_plain(call.operands):
            return function.apply(args, kwargs), None
        # An array may be returned as it is, unlike what becomes an array.
        key = call.key, tuple([type(x) is ArrayImpl for x in call.operands])
        before = calls.recall(key) or 0
        if before < first_calls.CALLS:
            out = function.apply(args, kwargs)
            # An executable would copy an operand that the function returns: never dispatched.
            if any(x is y for x in tree_leaves(out) for y in call.operands):
                if types is not None:
                    undispatched.add(types, True)
                return out, None
            calls.put(key, before + 1)
            if before + 1 == first_calls.CALLS:
                # The dispatcher has cached that such calls go to Python.
                this()._clear_cache()  # pyright: ignore[reportOptionalMemberAccess]
            return out, None
        program = function.program(call)
        if program is None:
            if types is not None:
                undispatched.add(types, True)
            return function.apply(args, kwargs), None
        # As of composites: unused numbers alone are not copied to the device.
        has_arrays = any(type(x) is ArrayImpl for x in call.operands)
        options = Options(keep_unused=program.keep_unused and has_arrays)
        outs, fast = _run(program.jaxpr, function.name, program.tree, call.operands, options)
        return tree_unflatten(program.tree, outs), fast

    dispatcher = make_fast_callable(
        function.name,
        on_miss,
        static_argnums=function.setting_numbers,
        static_argnames=function.setting_names,
    )
    this = weakref.ref(dispatcher)
    return dispatcher


def _are_plain(operands: Sequence[Any]) -> bool:
    """Whether operands are arrays, or numbers and NumPy arrays that the dispatcher converts.

    It converts a float to the default dtype, which beside arrays of other float dtypes would round
    it twice. Integers that decide what is computed have been refused already.
    """
    kinds = set(map(type, operands))
    if kinds <= {ArrayImpl}:
        return True
    hosts = {kind for kind in kinds if issubclass(kind, np.ndarray | np.generic)}
    if hosts:
        if device_mesh.value is not None:  # where each is replicated
            return False
        if not all(ir.is_host_operand(x) for x in operands if type(x) in hosts):
            return False
        kinds -= hosts
    if not kinds <= {ArrayImpl, float, int}:
        return False
    default = ir.python_scalar_dtype(float)
    dtypes = {x.dtype for x in operands if type(x) not in (float, int) and x.dtype != default}
    return all(dtype.kind in "iub" for dtype in dtypes)


def _types_of(args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Return the types of arrays and the settings of the thread; ``None`` for other arguments."""
    if any(type(x) is not ArrayImpl and type(x) is not np.ndarray for x in args):
        return None
    return (*[ir.get_aval(x) for x in args], ir.trace_key())


def _donating(args: Sequence[Any], results: int) -> Options:
    """Return options that donate the first argument to the first result."""
    donated = tuple(i == 0 for i in range(len(args)))
    sharding = args[0].sharding
    # Over several devices, the result needs the operand's sharding, so that the shards' buffers
    # fit.
    if sharding.num_devices == 1:
        return Options(donated=donated)
    return Options(donated=donated, out_shardings=(sharding, *[None] * (results - 1)))


def _run(
    jaxpr: Jaxpr,
    name: str,
    out_tree: PyTreeDef,
    args: Sequence[Any],
    options: Options = Options(),  # noqa: B008 (it is a tuple)
) -> tuple[list[Any], FastPath | None]:
    """Compile a jaxpr, unless its executable is cached on it, and call it."""
    in_tree = tree_structure((tuple(args), {}))
    program = Program(ir.convert_constvars(jaxpr), tuple(jaxpr.consts), in_tree, out_tree, name)
    return compile_program(program, args, options).call(args)


def _trace_of(args: tuple[Any, ...], primitive: Primitive | None) -> ir.Trace | None:
    """Return the innermost trace among the arguments' tracers, if there are any.

    There are, in a call inside ``ensure_compile_time_eval`` whose arguments are traced.

    Raises:
      UnexpectedTracerError: if the trace of a tracer has ended, belongs to another thread, or was
        not suspended by such a block.
    """
    innermost = None
    for x in args:
        if not isinstance(x, Tracer):
            continue
        if not x._trace.is_usable or not ir.eval_trace.accepts(x):
            raise ir.leaked_tracer(x, primitive)
        # A trace accepts the tracers of its parents. So the innermost is the one that accepts all
        # others.
        if innermost is None or not innermost.accepts(x):
            innermost = x._trace
    return innermost


def _in_trace(
    trace: ir.Trace, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]
) -> Any:
    with ir.set_trace(trace):
        return primitive.bind(*args, **params)


xla_backend: XlaBackend = XlaBackend()
ir.set_backend(xla_backend)
ir.register_array_type(ArrayImpl)
