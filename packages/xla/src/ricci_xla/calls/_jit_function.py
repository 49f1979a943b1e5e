"""Calls of jitted functions on a miss of the C++ dispatcher: trace, compile, run.

A run that exhausts the memory gets a report on the arrays that fill it, and the error of a host
callback loses the frames of the runtime.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import ricci_ir as ir
from ricci_ir import Hook, explained
from ricci_pytree import tree_unflatten
from ricci_xla.arrays._donation import name_repeated
from ricci_xla.compile._call import CompiledProgram
from ricci_xla.compile._compile import compile_program, two_stage_compilation
from ricci_xla.compile._dispatch import FastPath
from ricci_xla.compile._effects import without_callers
from ricci_xla.compile._place import Options
from ricci_xla.compile._value_checks import checks_results
from ricci_xla.devices import JaxRuntimeError, get_backend
from ricci_xla.meshes import Sharding, single_device_sharding
from ricci_xla.tracing._arguments import Arguments, Split, donated_leaves, split_static
from ricci_xla.tracing._program import (
    Inline,
    Program,
    abstract_leaves,
    check_values,
    programs,
    trace_program,
)
from ricci_xla.tracing._warm_start_hook import CallEntry, warm_start_hooks

from ._argument_shardings import (
    ProgramShardings,
    check_leaves,
    check_positional,
    constrained,
    layout_leaves,
    sharding_leaves,
)
from ._references import ReferenceCall, reference_call

__all__ = ["memory_report"]

# ``(program, leaves, options)``: returns lines of text, possibly none, on the arrays that fill the
# memory in a call of a program with flat arguments, under the options of ``jit``.
memory_report: Hook[Callable[[Program, Sequence[Any], Options], str]] = Hook(
    "reports on memory", provided_by="ricci_parallel", default=lambda program, leaves, options: ""
)


def run(
    compiled: CompiledProgram, leaves: Sequence[Any], options: Options
) -> tuple[list[Any], FastPath | None]:
    """Run a compiled program, and report which arrays fill the memory if it is exhausted.

    The report is appended to jaxlib's error; a callback's error loses the frames that led to it.
    Later calls, which C++ runs itself, raise jaxlib's errors unchanged.
    """
    try:
        return compiled.call(leaves)
    except JaxRuntimeError as error:
        report = ""
        if compiled.program.has_equations and str(error).startswith("RESOURCE_EXHAUSTED"):
            report = _report(compiled.program, leaves, options)
        if not report:
            text = without_callers(str(error))
            if text == str(error):
                raise
            raise JaxRuntimeError(text) from None
        raise JaxRuntimeError(explained(f"{error}\n{report}", "out-of-memory")) from None


def _report(program: Program, leaves: Sequence[Any], options: Options) -> str:
    """Return the report on a program, which compiles it again; empty if that fails as well."""
    try:
        return memory_report.call(program, leaves, options)
    except Exception:  # noqa: BLE001 (the user gets the runtime's error, as without a report)
        return ""


class JitFunction:
    """A jitted function, as seen by calls that miss in the C++ dispatcher.

    A call is traced, unless its jaxpr is cached. Inside another traced function, the jaxpr becomes
    an equation of that; else it is compiled, unless its executable is cached, and runs.

    Args:
      fun: the Python function.
      arguments: its static and donated arguments.
      options: the options that all calls share.
      inline: when the jaxpr is inlined into that of a calling function.
      in_shardings, out_shardings, backend: as for ``jit``.

    Attributes:
      cache: the jaxprs of the function; ``earlier`` has those of equal bound methods or partials.
      dispatcher: a weak reference to jaxlib's dispatcher of the function, once there is one, so
        that both are freed without the garbage collector.
    """

    __slots__ = (
        "__weakref__",
        "_options",
        "arguments",
        "backend",
        "cache",
        "dispatcher",
        "earlier",
        "fun",
        "in_shardings",
        "inline",
        "out_shardings",
    )

    def __init__(
        self,
        fun: Callable[..., Any],
        arguments: Arguments,
        options: Options,
        inline: Inline,
        in_shardings: ir.PyTree,
        out_shardings: ir.PyTree,
        backend: str | None,
    ):
        self.fun = fun
        self.arguments = arguments
        self._options = options
        self.backend = backend
        self.inline = inline
        self.in_shardings = in_shardings
        self.out_shardings = out_shardings
        self.cache, self.earlier = programs.of(fun, arguments, inline)
        self.dispatcher: Callable[[], Any] = lambda: None

    def __reduce__(self) -> tuple[object, ...]:
        shardings = self.in_shardings, self.out_shardings
        return JitFunction, (
            self.fun,
            self.arguments,
            self._options,
            self.inline,
            *shardings,
            self.backend,
        )

    @property
    def options(self) -> Options:
        """The options that all calls share. A backend is looked up when a call needs it."""
        if self.backend is not None and self._options.device is None:
            device = get_backend(self.backend).local_devices()[0]
            self._options = self._options._replace(device=device)
        return self._options

    @property
    def dispatch_key(self) -> Hashable:
        """The part of the dispatcher's key that differs between wrappers of one function."""
        if self.in_shardings is not None or self.out_shardings is not None:
            return object()  # a unique key, since pytrees of shardings may not be hashable
        donated = self.arguments.donate_argnums, self.arguments.donate_argnames
        return self._options, self.backend, self.inline, donated

    @property
    def jit_arguments(self) -> tuple[Any, ...]:
        """The arguments of ``jit`` besides the function."""
        shardings = self.in_shardings, self.out_shardings
        return self.arguments, self._options, self.backend, self.inline, *shardings

    def trace(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Program, Split]:
        """Return the program of a call, cached or traced, and the call's flattened arguments."""
        if kwargs and self.in_shardings is not None:
            check_positional(self.fun, self.in_shardings, kwargs)
        split = split_static(self.arguments, self.fun, ir.parted(args), ir.parted(kwargs))
        # Objects that hold an array are read now, since the function may replace the array.
        for i, x in enumerate(split.leaves):
            if hasattr(type(x), "__jax_array__"):
                split.leaves[i] = x.__jax_array__()
        avals = abstract_leaves(self.fun, split)
        program = trace_program(self.fun, split, avals, self.cache, self.earlier)
        ir.check_distinct(
            program.name, [*program.consts, *split.leaves], lambda: program.arg_names or ()
        )
        return program, split

    def options_for(
        self, program: Program, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Options:
        """Return the options of a call, with donation and shardings for each leaf."""
        options = self.options
        # Checking results may run the jaxpr again, so its arguments must not be donated.
        if not checks_results():
            options = options._replace(donated=donated_leaves(self.arguments, args, kwargs))
        if self.in_shardings is not None:
            options = options._replace(in_shardings=self.argument_shardings(program))
            if not isinstance(self.in_shardings, ProgramShardings):
                prefix = (self.in_shardings, None)
                layouts = layout_leaves("in_shardings", program.in_tree, prefix)
                options = options._replace(in_layouts=layouts)
        if self.out_shardings is not None:
            options = options._replace(out_shardings=self.result_shardings(program))
            layouts = layout_leaves("out_shardings", program.out_tree, self.out_shardings)
            options = options._replace(out_layouts=layouts)
        return options

    def argument_shardings(self, program: Program) -> tuple[Sharding | None, ...]:
        """Return the sharding of each leaf of the arguments, from ``in_shardings``."""
        requested = self.in_shardings
        if isinstance(requested, ProgramShardings):
            return tuple(requested.find(program.jaxpr)[len(program.consts) :])
        shardings = sharding_leaves("in_shardings", program.in_tree, (requested, None))
        avals = program.jaxpr.in_avals[len(program.consts) :]
        names = [f"argument {name} of jit({program.name})" for name in program.arg_names]
        check_leaves(shardings, avals, names)
        return shardings

    def result_shardings(self, program: Program) -> tuple[Sharding | None, ...]:
        """Return the sharding of each leaf of the result, from ``out_shardings``."""
        shardings = sharding_leaves("out_shardings", program.out_tree, self.out_shardings)
        names = [f"{info} of jit({program.name})" for info in program.result_info]
        check_leaves(shardings, program.jaxpr.out_avals, names)
        return shardings

    def on_miss(self, *args: object, **kwargs: object) -> tuple[Any, FastPath | None]:
        """Serve a call; return also its entry for the dispatcher, ``None`` if it must miss again.

        A warm start may have the executable of the call; else the new one is stored there.
        """
        if ir.hi_values.in_use and ir.context.trace is not ir.eval_trace and not ir.is_recording():
            # The rules of operations on values of several arrays apply to these as a whole.
            if ir.has_hi_values((args, kwargs)):
                return self.fun(*args, **kwargs), None
        warm_entry = None
        if warm_start_hooks.calls is not None:
            warm_entry = warm_start_hooks.calls.lookup(self, args, kwargs)
        if warm_entry is None:
            program, split = self.trace(args, kwargs)
        else:
            stored = warm_entry.result()
            if stored is not None:
                return stored
            with warm_entry:
                program, split = self.trace(args, kwargs)
        # Inside another trace the call becomes part of the outer jaxpr. C++ must ask again each
        # time, so there is no entry for the dispatcher.
        if _is_traced(program, split):
            return self._inline(program, split, donated_leaves(self.arguments, args, kwargs)), None
        options = self.options_for(program, args, kwargs)
        call = reference_call(program, split.leaves)
        if call is not None:
            return _run_on_references(call, options)
        return self._run(program, split.leaves, options, warm_entry)

    def _run(
        self,
        program: Program,
        leaves: Sequence[Any],
        options: Options,
        warm_entry: CallEntry | None,
    ) -> tuple[Any, FastPath | None]:
        """Compile a traced call, unless its executable is cached, and run it."""
        check_values(program, leaves)
        if options.donated:
            name_repeated(program.name, program.arg_names, leaves, options.donated)
        compiled = compile_program(program, leaves, options, in_stages=two_stage_compilation.value)
        program.report_miss()
        if warm_entry is not None:
            warm_entry.store(compiled)
        # A provisional executable of the first stage is not given to C++. Once the optimized one
        # has replaced it, the dispatcher must ask again to get that.
        was_provisional = compiled.is_provisional
        outs, fast = run(compiled, leaves, options)
        if was_provisional and not compiled.is_provisional:
            dispatcher = self.dispatcher()
            if dispatcher is not None:
                dispatcher._clear_cache()  # C++ has cached that such calls go to Python
        return tree_unflatten(program.out_tree, outs), fast

    def _inline(self, program: Program, split: Split, donated: tuple[bool, ...]) -> Any:
        """Apply the jaxpr of a call in the current trace, as one equation unless it is inlined."""
        program.report_miss()
        if ir.is_observed():
            _notify_donating(program, donated)
        if self.options.compiler_options:
            raise ValueError(
                f"{program.name} has compiler_options={dict(self.options.compiler_options)}, but "
                "it is called inside another traced function, and XLA takes options for whole "
                "programs only. Give them to the outermost jit."
            )
        leaves = split.leaves
        device = self.options.device
        if self.in_shardings is not None and not isinstance(self.in_shardings, ProgramShardings):
            leaves = constrained(leaves, self.argument_shardings(program))
        elif device is not None:
            leaves = constrained(leaves, [single_device_sharding(device)] * len(leaves))
        operands = [*program.consts, *leaves]
        if self.inline is Inline.JAX_EARLY:
            outs = ir.eval_jaxpr(program.jaxpr, (), *operands)
        else:
            if self.inline is Inline.JAX_LATE:
                ir.staged_call.inlined.add(program.jaxpr)
            if donated:
                donated = (False,) * len(program.consts) + donated
            outs = ir.staged_call.bind(program.jaxpr, program.name, operands, donated)
        if self.out_shardings is not None:
            outs = constrained(outs, self.result_shardings(program))
        elif device is not None:
            outs = constrained(outs, [single_device_sharding(device)] * len(outs))
        return tree_unflatten(program.out_tree, outs)


def _is_traced(program: Program, split: Split) -> bool:
    """Whether a call is part of a traced function, so that it must be recorded and not run."""
    return (
        ir.context.trace is not ir.eval_trace
        or any(isinstance(x, ir.Tracer) for x in split.leaves)
        or any(isinstance(x, ir.Tracer) for x in program.consts)
    )


def _run_on_references(call: ReferenceCall, options: Options) -> tuple[Any, FastPath | None]:
    """Run a call that uses references, on the arrays in them."""
    donates = not checks_results()
    program = call.program
    # The lock spans reading and writing back: written arrays are donated, and another thread must
    # not see a reference whose array is gone. Compilation needs types alone: shared arrays are
    # copied after it.
    with call.locked():
        options = call.options(options, donates)
        compiled = compile_program(program, call.leaves(donates=False), options)
        leaves = call.leaves(donates)
        program.report_miss()
        outs, fast = run(compiled, leaves, options)
        outs = call.write_back(outs)
    return tree_unflatten(program.out_tree, outs), None if call.refs else fast


def _notify_donating(program: Program, donated: tuple[bool, ...]) -> None:
    if any(donated):
        count = len(program.consts)
        names = program.arg_names
        source = ir.current_source()
        outer = ir.enclosing(ir.JaxprTrace)
        is_nested = outer is not None and ir.enclosing(ir.JaxprTrace, outer.parent) is not None
        jaxpr = program.jaxpr
        ir.notify(ir.DonatingCall(source, program.name, jaxpr, count, names, donated, is_nested))
