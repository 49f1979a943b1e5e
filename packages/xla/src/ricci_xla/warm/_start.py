"""``warm_start``: serve the first calls of jitted functions from an earlier run's executables.

Calls that miss the bundle are recorded in it.
"""

import atexit
import os
from collections.abc import Iterable
from time import perf_counter
from typing import Any, Literal

import ricci_ir as ir
from ricci_pytree import tree_unflatten
from ricci_xla.arrays._layout import special_layout
from ricci_xla.compile._call import CompiledProgram
from ricci_xla.compile._dispatch import FastPath
from ricci_xla.compile._value_checks import checks_errors, checks_results
from ricci_xla.devices import device_mesh, local_devices, process_count
from ricci_xla.files import FileError
from ricci_xla.meshes._mesh import entered_mesh
from ricci_xla.tracing._arguments import Split, split_static
from ricci_xla.tracing._program import abstract_leaves, program_key, qualified_name
from ricci_xla.tracing._warm_start_hook import JitInfo, warm_start_hooks

from ._bundle import Bundle, WarmCall
from ._classes import Classes, NoFingerprint
from ._dependencies import dependencies, difference
from ._fingerprint import fingerprint
from ._portability import check_portable
from ._records import CallRecord, decode_program, encode_program
from ._watch import Watch

__all__ = ["WarmCall", "WarmStart", "warm_start"]

_disable_jit = ir.config.state("jax_disable_jit")

# The topics of a call's key, as reasons name them.
_TOPICS = {
    "function": "the function, or a value that it closes over",
    "types": "the types or the structure of the arguments",
    "places": "where the arguments are",
    "static": "the static arguments",
    "jit": "the arguments of jit",
    "settings": "a setting",
}


class Calls:
    """The warm-start cache that ``jit`` looks calls up in: a bundle."""

    def __init__(self, bundle: Bundle):
        self.bundle = bundle

    def lookup(self, info: JitInfo, args: tuple[Any, ...], kwargs: dict[str, Any]) -> "Call | None":
        """Return the call that is about to be traced, or ``None`` if it cannot be cached."""
        # Calls whose results depend on more than their key, or whose trace someone watches, are not
        # cached; nor are those of several processes, which would have to agree on a hit.
        if (
            ir.context.trace is not ir.eval_trace
            or ir.is_observed()
            or checks_results()
            or checks_errors()
            or ir.debug_key_reuse.value
            or ir.no_execution.value
            or _disable_jit.value
            or process_count() > 1
        ):
            return None
        split = split_static(info.arguments, info.fun, args, kwargs)
        leaves = split.leaves
        if any(isinstance(x, ir.Tracer) or hasattr(type(x), "__jax_array__") for x in leaves):
            return None
        avals = abstract_leaves(info.fun, split)
        if info.cache.recall(program_key(split, avals)) is not None:
            return None  # traced in this process; only its devices are new
        return Call(self.bundle, info, split, avals)


class Call:
    """One call of a jitted function."""

    def __init__(self, bundle: Bundle, info: JitInfo, split: Split, avals: tuple[Any, ...]):
        self.bundle = bundle
        self.function = qualified_name(info.fun)
        self._split = split
        self._classes = Classes()
        self._watch = Watch(self._classes, bundle.ignored)
        self._retrace = ir.observing(lambda event: None, anew=True)
        self._jit_cache = info.cache
        self._start = perf_counter()
        self._reason: str | None = None
        self._changed: str | None = None
        self._key: dict[str, bytes] = {}
        try:
            self._key = _key(info, split, avals, self._classes)
        except NoFingerprint as reason:
            self._reason = str(reason)

    def result(self) -> tuple[Any, FastPath | None] | None:
        """Run the bundle's executable; return results and dispatcher entry, ``None`` on a miss."""
        if self._reason is not None:
            return None
        start = perf_counter()
        key = self.function, *self._key.values()
        compiled = self.bundle.loaded.get(key)
        if compiled is None:
            record = self._find()
            if record is None:
                return None
            try:
                loaded = self.bundle.prefetch.get(record.program)
                split = self._split
                compiled = decode_program(
                    record.program,
                    loaded,
                    local_devices(),
                    split.tree,
                    split.static,
                    [module.name for module in self.bundle.modules_of(record)],
                )
            except (FileError, RuntimeError) as error:
                self._changed = f"its program cannot be loaded: {error}"
                return None
            self.bundle.loaded[key] = compiled
            took = perf_counter() - start
            self.bundle.report(self.function, "warm", saved=record.seconds, took=took)
        outs, fast = compiled.call(self._split.leaves)
        return tree_unflatten(compiled.program.out_tree, outs), fast

    def __enter__(self) -> None:
        if self._reason is None:
            # While the function is traced, the watch records the code that runs. Inner functions
            # are traced again, since a jaxpr from the cache would hide theirs.
            self._watch.__enter__()
            self._retrace.__enter__()
            ir.exempt_from_retracing(self._jit_cache)

    def __exit__(self, *exception: object) -> None:
        if self._reason is None:
            self._retrace.__exit__(*exception)
            self._watch.__exit__(*exception)

    def store(self, compiled: CompiledProgram) -> None:
        """Add the call's executable to the bundle."""
        seconds = perf_counter() - self._start
        try:
            if self._reason is not None:
                raise NoFingerprint(self._reason)
            program = compiled.program
            text = compiled.executable.loaded.get_hlo_text()
            check_portable(compiled.executable, text, program.jaxpr)
            modules = dependencies(self._watch)
            record = CallRecord(
                self.function,
                self._key,
                self.bundle.positions(modules),
                seconds,
                encode_program(
                    compiled.executable,
                    text,
                    self.bundle.programs,
                    program.name,
                    program.arg_names,
                    self._split.tree,
                    self._split.static,
                    program.out_tree,
                    [module.name for module in modules],
                ),
            )
        except NoFingerprint as reason:
            self.bundle.report(self.function, "not kept", str(reason), took=seconds)
            return
        self.bundle.add(record)
        self.bundle.report(self.function, "kept", self._why(), took=seconds)

    def _find(self) -> CallRecord | None:
        for record in self.bundle.calls_of(self.function):
            if record.key == self._key:
                changed = difference(self.bundle.modules_of(record), self.bundle.ignored)
                if changed is None:
                    return record
                self._changed = changed
        return None

    def _why(self) -> str:
        """The reason of the miss."""
        if self._changed is not None:
            return self._changed
        saved = self.bundle.saved_calls_of(self.function)
        if not saved:
            return "it is new"
        # The saved call that differs in the fewest topics is the one that should have hit.
        nearest = min(
            ([topic for topic in self._key if r.key.get(topic) != self._key[topic]] for r in saved),
            key=len,
        )
        return f"{' and '.join(_TOPICS[topic] for topic in nearest)} changed" if nearest else "new"


def _key(info: JitInfo, split: Split, avals: tuple[Any, ...], classes: Classes) -> dict[str, bytes]:
    if any(special_layout(x) is not None for x in split.leaves):
        raise NoFingerprint("its arguments have layouts of their own")
    by_position, by_name = split.static
    # A fingerprint for each topic, so that a miss can name the one that changed.
    topics = {
        "function": (info.fun,),
        "types": (split.tree, *(f"{aval} {aval.weak_type}" for aval in avals)),
        "places": tuple(map(_place, split.leaves)),
        "static": (by_position, by_name),
        "jit": info.jit_arguments,
        "settings": (
            repr(ir.trace_context()),
            device_mesh.value,
            entered_mesh(),
            ir.config.jax_default_device,
        ),
    }
    return {topic: fingerprint(*values, classes=classes) for topic, values in topics.items()}


def _place(leaf: Any) -> Any:
    """The sharding of an argument if it is committed, else None."""
    array = getattr(leaf, "physical", leaf)
    return array.sharding if getattr(array, "committed", False) else None


class WarmStart:
    """A bundle in use, returned by ``warm_start``. As a context manager it ends with the block.

    Attributes:
      path: the bundle's file.
    """

    def __init__(
        self, path: str | os.PathLike[str], mode: Literal["auto", "read"], ignore: Iterable[str]
    ):
        self.path: str = os.fspath(path)
        self._bundle = Bundle(path, ignore)
        self._saves = mode == "auto"
        self._ended = False
        warm_start_hooks.calls = self._calls = Calls(self._bundle)
        warm_start_hooks.compile = self._bundle.programs
        atexit.register(self.end)

    @property
    def calls(self) -> tuple[WarmCall, ...]:
        """The outcomes of the first calls, in order."""
        return tuple(self._bundle.log)

    @property
    def rows(self) -> list[dict[str, object]]:
        """The outcomes of the first calls as data, in order."""
        return [call._asdict() for call in self.calls]

    def save(self) -> bool:
        """Write new calls and executables to the file; return whether there were any.

        Raises:
          OSError: if the file cannot be written.
        """
        return self._bundle.save()

    def end(self) -> None:
        """Stop using the bundle, and save it unless the mode is ``"read"``.

        It is called when the process ends.
        """
        if self._ended:
            return
        self._ended = True
        atexit.unregister(self.end)
        # Another bundle may be in use since.
        if warm_start_hooks.calls is self._calls:
            warm_start_hooks.calls = warm_start_hooks.compile = None
        self._bundle.prefetch.end()
        if self._saves:
            try:
                self.save()
            except OSError as error:
                ir.warn_user(f"{self.path}: the bundle cannot be written: {error}.")

    def __enter__(self) -> "WarmStart":
        return self

    def __exit__(self, *exception: object) -> None:
        self.end()

    def __str__(self) -> str:
        """A table of the calls with their outcomes and reasons."""
        calls = self.calls
        lines = [
            f"{call.outcome:<9}{call.seconds:7.3f} s  {call.function}"
            + (f" (saved {call.saved:.3f} s)" if call.saved else "")
            + (f": {call.reason}" if call.reason else "")
            for call in calls
        ]
        if self._bundle.changed is not None:
            lines.insert(0, self._bundle.changed)
        warm = sum(call.outcome == "warm" for call in calls)
        return "\n".join([*lines, f"{warm} of {len(calls)} first calls came from {self.path}"])

    def _repr_html_(self) -> str:
        return ir.html_table(self.rows, str(self))


def warm_start(
    path: str | os.PathLike[str],
    *,
    mode: Literal["auto", "read"] = "auto",
    ignore: Iterable[str] = (),
) -> WarmStart:
    """Serve the first calls of jitted functions from a bundle: no tracing and no compiling.

    The first run traces and compiles as usual, and writes the bundle when it ends. A later process
    on a machine of the same kind loads from it the executables of calls that hit. A call hits if
    nothing has changed that its executable depends on: the function and all Python code that ran
    while it was traced, the values that these close over and the global values that they read, the
    types and shardings of the arguments, static arguments, options, and the versions of Python,
    NumPy, jaxlib and Ricci. A call that misses is traced and compiled, and added.

    A function that reads something that cannot be observed while it is traced, such as a file, the
    clock, or random numbers of NumPy, is not cached, and the call's reason names it. Pass such
    values as static arguments.

    Args:
      path: the bundle's file. It need not exist.
      mode: ``"auto"`` adds new calls to the file when the process ends; ``"read"`` does not write
        the file.
      ignore: global values that do not affect results although traced code reads them, by module
        and name: ``"library.module.counter"``, as the reasons of calls name them. The name of a
        module or of a package stands for all names in it.

    Returns:
      A ``WarmStart``. Its ``calls``, and its text, list hits and misses with reasons.

    Raises:
      ValueError: if ``mode`` is neither.

    Example:
      >>> import tempfile
      >>> import os
      >>> import ricci
      >>> file = os.path.join(tempfile.mkdtemp(), "bundle")
      >>> with ricci.warm_start(file) as start:
      ...     ricci.jit(lambda x: x)(1.0)
      Array(1., dtype=float32, weak_type=True)
      >>> start.calls[0].outcome
      'kept'
    """
    if mode not in ("auto", "read"):
        raise ValueError(f'warm_start: mode must be "auto" or "read", got {mode!r}')
    return WarmStart(path, mode, ignore)
