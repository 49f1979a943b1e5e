"""The configuration: options by name, and as objects for the modules that read them."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from ._messages import similar_names
from ._option_kinds import BOOL, Bool, Kind, Of, OneOf, Text
from ._options import OPTIONS, Status
from ._settings import UNSET, Override, State, trace_on
from ._source import warn_user

__all__ = ["Config", "allow_f16_reductions", "array_garbage_collection_guard", "auto_pcast"]
__all__ += ["check_tracer_leaks", "checking_leaks", "config", "debug_infs", "debug_key_reuse"]
__all__ += ["debug_nans", "default_device", "default_matmul_precision", "default_prng_impl"]
__all__ += ["define_option", "disable_jit", "disable_jit_state", "enable_checks"]
__all__ += ["enable_custom_prng", "enable_x64", "explain_cache_misses", "explicit_x64_dtypes"]
__all__ += ["from_environment", "jax2tf_associative_scan_reductions", "legacy_prng_key"]
__all__ += ["log_checkpoint_residuals", "log_compiles", "no_execution", "no_tracing"]
__all__ += ["numpy_dtype_promotion", "numpy_rank_promotion", "random_seed_offset"]
__all__ += ["remove_size_one_mesh_axis_from_type", "softmax_custom_jvp", "thread_guard"]
__all__ += ["threefry_partitionable", "traceback_filtering", "transfer_guard"]
__all__ += ["transfer_guard_device_to_device", "transfer_guard_device_to_host"]
__all__ += ["transfer_guard_host_to_device"]


class Config:
    """All options by name: ``config.jax_enable_x64`` reads one, ``config.update`` sets one.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> ricci.config.update("jax_enable_x64", True)  # before arrays are made
      >>> jnp.ones(2).dtype
      dtype('float64')
      >>> ricci.config.update("jax_enable_x64", False)
      >>> with ricci.enable_x64(True):  # in a block, in this thread
      ...     print(ricci.config.jax_enable_x64)
      True

    Notes:
      Each option ``jax_name`` has an environment variable ``JAX_NAME`` that is read at import. A
      misspelt name raises an AttributeError with similar ones.
    """

    __slots__ = ("_states", "_use_absl")

    def __init__(self):
        object.__setattr__(self, "_states", {})
        object.__setattr__(self, "_use_absl", False)

    def state(self, name: str) -> State:
        """The ``State`` of the option with this name.

        Raises:
          AttributeError: if the option is unknown; the message lists similar names.
        """
        return self._state(name)

    def _state(self, name: str) -> State:
        try:
            return self._states[name]
        except KeyError:
            raise self._unknown(name) from None

    def update(self, name: str, val: object) -> None:
        """Set the global value of an option.

        Raises:
          AttributeError: if the option is unknown.
          ValueError: if the option does not take this value (``TypeError`` for a wrong type).
        """
        self._state(name).set_global(val)

    def read(self, name: str) -> Any:
        """The value of an option as this thread sees it."""
        return self.state(name).value

    def on_change(self, name: str, callback: Callable[[Any, bool], object]) -> None:
        """Call ``callback(value, local)`` now and after each change; see ``State.on_change``."""
        self.state(name).on_change(callback)

    def add_option(
        self,
        name: str,
        holder: State,
        opt_type: object = None,
        meta_args: object = (),
        meta_kwargs: object = None,
    ) -> None:
        """Add a ``State`` under a name; the other arguments are not used."""
        if name in self._states:
            raise ValueError(f"the option {name} exists already")
        self._states[name] = holder

    @property
    def values(self) -> dict[str, Any]:
        """The global value of every option."""
        return {name: state._global for name, state in self._states.items()}

    @property
    def meta(self) -> dict[str, tuple[Any, ...]]:
        """For every option its type, and its values where they can be listed."""
        return {name: _meta(state) for name, state in self._states.items()}

    @property
    def x64_enabled(self) -> bool:
        """Whether 64-bit dtypes are on in this thread."""
        return enable_x64.value

    @property
    def use_absl(self) -> bool:
        """Whether options are command line flags of absl."""
        return self._use_absl

    def config_with_absl(self) -> None:
        """Make every option a flag of absl, to be read when its ``app`` starts.

        Raises:
          RuntimeError: if the program has not imported ``absl.app``.
        """
        if self._use_absl:
            return
        # absl is not a dependency: a program that wants its flags has imported it.
        flags, app = sys.modules.get("absl.flags"), sys.modules.get("absl.app")
        if flags is None or app is None:
            raise RuntimeError("import absl.app before making the options flags of absl")
        object.__setattr__(self, "_use_absl", True)
        for name, state in self._states.items():
            text = f"The option {name}."
            if state.kind == BOOL:
                flags.DEFINE_bool(name, state._global, text)
            elif isinstance(state.kind, OneOf):
                flags.DEFINE_enum(name, state._global, list(state.kind.values), text)
            else:
                flags.DEFINE_string(name, None, f"{text} Default: {state._global}.")
        app.call_after_init(lambda: self.complete_absl_config(flags))

    def complete_absl_config(self, absl_flags: Any) -> None:
        """Set the options whose flags were given on the command line."""
        for name, state in self._states.items():
            flag = absl_flags.FLAGS[name]
            if flag.present:
                text = flag.value
                # Booleans and enums are parsed by absl; all others are flags of strings.
                is_parsed = not isinstance(text, str) or state.kind is None
                state.set_global(text if is_parsed else state.kind.from_text(name, text))

    def parse_flags_with_absl(self) -> None:
        """Read the options given on the command line now, without starting absl's ``app``."""
        if not self._use_absl:
            self.config_with_absl()
            absl_flags = sys.modules["absl.flags"]
            absl_flags.FLAGS(sys.argv, known_only=True)
            self.complete_absl_config(absl_flags)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # a copy has no attributes until it is filled
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return self._state(name).value

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"options are set with config.update({name!r}, {value!r})")

    def __copy__(self) -> "Config":
        return self  # the options are those of the process

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *self._states})

    def _unknown(self, name: str) -> AttributeError:
        similar = similar_names(name, self._states, 3)
        # Users may leave the prefix out.
        similar = similar or similar_names(f"jax_{name}", self._states, 3)
        hint = f"; did you mean {' or '.join(similar)}?" if similar else ""
        return AttributeError(f"unknown option {name!r}{hint}")


def _meta(state: State) -> tuple[Any, ...]:
    match state.kind:
        case Bool():
            return bool, [], {}
        case Of(cls=cls):
            return cls, [], {}
        case Text():
            return str, [], {}
        case OneOf(values=values):
            return "enum", [], {"enum_values": list(values)}
        case kind:
            return getattr(kind, "cls", object), [], {}


def from_environment(name: str, kind: Kind, environ: Mapping[str, str]) -> Any:
    """The value of an option in the environment, or ``UNSET``.

    The option ``jax_x`` is read from ``RICCI_X``, or else from ``JAX_X``. An option ``x`` without
    that prefix is read from ``RICCI_X``, or else from ``X``.
    """
    for variable in (f"RICCI_{name.removeprefix('jax_').upper()}", name.upper()):
        if variable in environ:
            try:
                return kind.from_text(name, environ[variable])
            except ValueError as e:
                raise ValueError(f"environment variable {variable}: {e}") from None
    return UNSET


def define_option(
    name: str, kind: Kind, default: object, *, traced: bool = False, per_equation: bool = False
) -> State:
    """Add an option to ``config``; its initial value may come from the environment."""
    state = _add_option(name, kind, default, traced, per_equation)
    if traced:
        trace_on(state)
    return state


def _add_option(name: str, kind: Kind, default: object, traced: bool, per_equation: bool) -> State:
    state = State(name, kind, default, traced, per_equation)
    initial = from_environment(name, kind, os.environ)
    if initial is not UNSET:
        state._global = initial
    config.add_option(name, state)
    return state


def warn_unsupported(state: State, advice: str) -> None:
    """Warn, the first time that an option is set to another value, that it has no effect."""
    warned = False

    def warn(value: object, local: bool) -> None:
        nonlocal warned
        if warned or value is UNSET or value == state.default:
            return
        warned = True
        warn_user(f"the option {state.name}={value!r} is not supported: {advice}.")

    state.on_change(warn)


config: Config = Config()
_traced: list[State] = []
for _name, _option in OPTIONS.items():
    _state = _add_option(_name, _option.kind, _option.default, _option.traced, _option.per_equation)
    if _option.traced:
        _traced.append(_state)
    if _option.status is Status.UNSUPPORTED:
        warn_unsupported(_state, _option.note)
trace_on(*_traced)

allow_f16_reductions: State = config.state("jax_allow_f16_reductions")
array_garbage_collection_guard: State = config.state("jax_array_garbage_collection_guard")
auto_pcast: State = config.state("jax_auto_pcast")
check_tracer_leaks: State = config.state("jax_check_tracer_leaks")
debug_infs: State = config.state("jax_debug_infs")
debug_key_reuse: State = config.state("jax_debug_key_reuse")
debug_nans: State = config.state("jax_debug_nans")
default_device: State = config.state("jax_default_device")
default_matmul_precision: State = config.state("jax_default_matmul_precision")
default_prng_impl: State = config.state("jax_default_prng_impl")
disable_jit_state: State = config.state("jax_disable_jit")
enable_checks: State = config.state("jax_enable_checks")
enable_custom_prng: State = config.state("jax_enable_custom_prng")
enable_x64: State = config.state("jax_enable_x64")
explain_cache_misses: State = config.state("jax_explain_cache_misses")
explicit_x64_dtypes: State = config.state("jax_explicit_x64_dtypes")
jax2tf_associative_scan_reductions: State = config.state("jax2tf_associative_scan_reductions")
legacy_prng_key: State = config.state("jax_legacy_prng_key")
log_compiles: State = config.state("jax_log_compiles")
log_checkpoint_residuals: State = config.state("jax_log_checkpoint_residuals")
no_execution: State = config.state("jax_no_execution")
no_tracing: State = config.state("jax_no_tracing")
numpy_dtype_promotion: State = config.state("jax_numpy_dtype_promotion")
numpy_rank_promotion: State = config.state("jax_numpy_rank_promotion")
random_seed_offset: State = config.state("jax_random_seed_offset")
remove_size_one_mesh_axis_from_type: State = config.state("jax_remove_size_one_mesh_axis_from_type")
softmax_custom_jvp: State = config.state("jax_softmax_custom_jvp")
thread_guard: State = config.state("jax_thread_guard")
threefry_partitionable: State = config.state("jax_threefry_partitionable")
traceback_filtering: State = config.state("jax_traceback_filtering")
transfer_guard_device_to_device: State = config.state("jax_transfer_guard_device_to_device")
transfer_guard_device_to_host: State = config.state("jax_transfer_guard_device_to_host")
transfer_guard_host_to_device: State = config.state("jax_transfer_guard_host_to_device")

_transfer_guards = (
    config.state("jax_transfer_guard"),
    transfer_guard_host_to_device,
    transfer_guard_device_to_device,
    transfer_guard_device_to_host,
)


@contextmanager
def transfer_guard(new_val: str) -> Iterator[None]:
    """Guard transfers between host and devices in every direction.

    Args:
      new_val: ``"allow"``; ``"log"`` or ``"disallow"`` for implicit transfers; ``"log_explicit"``
        or ``"disallow_explicit"`` also for ``device_put`` and ``device_get``.

    Returns:
      A context manager.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> double = ricci.jit(lambda x: 2 * x)
      >>> x = ricci.device_put(np.ones(3))  # explicit
      >>> with ricci.transfer_guard("disallow"):
      ...     y = double(x)
      >>> y.tolist()
      [2.0, 2.0, 2.0]
    """
    with ExitStack() as stack:
        for state in _transfer_guards:
            stack.enter_context(state(new_val))
        yield


def _guard_all_directions(value: object, local: bool) -> None:
    # An override of one thread is entered by ``transfer_guard`` for each direction itself.
    if not local:
        for state in _transfer_guards[1:]:
            state.set_global(value)


# If the guard of all directions is unset, the environment may have set one direction.
if _transfer_guards[0].value is None:
    _transfer_guards[0].after_change(_guard_all_directions)
else:
    _transfer_guards[0].on_change(_guard_all_directions)


def disable_jit(disable: bool = True) -> Override:
    """Run the body of jitted functions operation by operation, to debug them.

    Args:
      disable: ``False`` enables ``jit`` again inside of such a block.

    Returns:
      A context manager.

    Example:
      Inside, values can be printed and used in Python's control flow:

      >>> import ricci
      >>> @ricci.jit
      ... def f(x):
      ...     y = 2 * x
      ...     print(y)
      ...     return y
      >>> with ricci.disable_jit():
      ...     _ = f(3.0)
      6.0
    """
    return disable_jit_state(disable)


def checking_leaks() -> Override:
    """Raise an error if a traced array outlives the function that it belongs to.

    Example:
      >>> import ricci
      >>> leaked = []
      >>> with ricci.checking_leaks():
      ...     try:
      ...         _ = ricci.jit(lambda x: leaked.append(x) or x)(1.0)
      ...     except Exception as error:
      ...         print(str(error)[:24])
      Leaked trace JaxprTrace.
    """
    return check_tracer_leaks(True)
