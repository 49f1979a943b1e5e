"""Options: the list is the oracle's, and each one that is honoured changes what can be observed.

``DEMONSTRATIONS`` has a row for every option of that status: what is observed with the default,
and with another value. An option that nobody reads gives the same twice, and fails.
"""

import dataclasses
import importlib
import json
import logging
import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
from ricci import config, grad, jit, lax, make_jaxpr, nn, random
from ricci.export import deserialize, export
from ricci.extend.core import Primitive
from ricci_ir import OPTIONS, Status
from ricci_parallel.processes import _initialize
from ricci_stablehlo import lower_jaxpr
from ricci_xla import Mesh, compile_options
from ricci_xla.cache import reset_cache, use_xla_caches
from ricci_xla.devices import _client, _plugins
from ricci_xla.devices._jaxlib import runtime, xla_client

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tools")]

import options_table  # noqa: E402

oracle_only = pytest.mark.skipif(
    "RICCI_ORACLE_PYTHON" not in os.environ, reason="no oracle: RICCI_ORACLE_PYTHON is not set"
)


class Tools(NamedTuple):
    """What an observer may use."""

    monkeypatch: pytest.MonkeyPatch
    folder: Path
    capfd: Any


class Row(NamedTuple):
    """A demonstration.

    Attributes:
      value: what the option is set to.
      observe: called with ``Tools``.
      default, changed: what it gives with the default and with ``value``.
    """

    value: Any
    observe: Callable[[Tools], Any]
    default: Any
    changed: Any


def outcome(fun: Callable[[], Any]) -> Any:
    """The name of the error that a call raises, or of the warning that it gives, or ``ok``."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            fun()
        except Exception as error:  # noqa: BLE001  whatever it is, its name is the outcome
            return type(error).__name__
    return caught[0].category.__name__ if caught else "ok"


def raising(fun: Callable[[], Any]) -> Callable[[Tools], Any]:
    return lambda tools: outcome(fun)


# Observers, by topic.

kept: list[Any] = []


def leak() -> None:
    kept.clear()
    jit(lambda x: kept.append(x) or x * 2)(1.0)


def use_key_twice() -> None:
    key = random.key(0)
    random.normal(key)
    random.normal(key)


def fickle_program() -> None:
    """A primitive that says another type each time it is asked."""
    types = iter((jnp.float32, jnp.int32, jnp.float32, jnp.int32))
    fickle = Primitive("fickle")
    fickle.def_abstract_eval(lambda x: x.update(dtype=np.dtype(next(types))))
    make_jaxpr(lambda x: fickle.bind(x))(1.0)
    make_jaxpr(lambda x: fickle.bind(x))(1.0)


def close_over() -> None:
    constant = np.ones(1000, np.float32)
    jit(lambda x: x + constant).lower(1.0)


def wrong_cotangent() -> None:
    @ricci.custom_vjp
    def f(x):
        return x

    f.defvjp(lambda x: (x, None), lambda residual, ct: (jnp.ones(3),))
    grad(lambda x: f(x).sum())(jnp.ones(2))


def add_a_shared_value() -> None:
    """A value that varies along a mesh axis, plus one that does not."""
    mesh, spec = Mesh(np.array(ricci.devices()[:1]), ("x",)), ricci.P("x")
    add = lambda a, b: a + b
    ricci.shard_map(add, mesh=mesh, in_specs=(spec, ricci.P()), out_specs=spec)(jnp.ones(1), 1.0)


def enter_mesh() -> None:
    with Mesh(np.array(ricci.devices()[:1]), ("x",)):
        pass


def logged(name: str, fun: Callable[[], Any]) -> Callable[[Tools], bool]:
    """Whether a call logs a warning under a name."""

    def observe(tools: Tools) -> bool:
        records: list[logging.LogRecord] = []
        handler = logging.Handler(logging.WARNING)
        handler.emit = records.append
        logger = logging.getLogger(name)
        logger.addHandler(handler)
        propagates, logger.propagate = logger.propagate, False
        try:
            fun()
        finally:
            logger.removeHandler(handler)
            logger.propagate = propagates
        return bool(records)

    return observe


def trace_twice() -> None:
    f = jit(lambda x: x + 1)
    f(np.float32(1))
    f(np.int32(1))


def said_on_stderr(tools: Tools) -> bool:
    tools.capfd.readouterr()
    jit(lambda x: x - 1)(1.0)
    return "Compiling jit(<lambda>)" in tools.capfd.readouterr().err


def runs_of_the_body(tools: Tools) -> int:
    runs = []
    f = jit(lambda x: runs.append(0) or x)
    f(1.0), f(2.0), f(3.0)
    return len(runs)


def frames_in_traceback(tools: Tools) -> bool:
    """Whether a traceback has frames of the library."""
    try:
        lax.add(jnp.ones(2), jnp.ones(3))
    except TypeError as error:
        tb, found = error.__traceback__, False
        while tb is not None:
            found = found or tb.tb_frame.f_globals["__name__"].startswith("ricci")
            tb = tb.tb_next
        return found
    raise AssertionError("shapes that differ cannot be added")


def free_a_cycle(tools: Tools) -> bool:
    """Whether jaxlib says that the garbage collector had to free an array."""
    code = (
        "import gc, sys, ricci.numpy as jnp\n"
        f"from ricci import config\nconfig.update('jax_array_garbage_collection_guard', "
        f"{config.jax_array_garbage_collection_guard!r})\n"
        "cycle = [jnp.ones(3) + 1]\ncycle.append(cycle)\ndel cycle\ngc.collect()\nprint('alive')"
    )
    done = run_python(code)
    assert "alive" in done.stdout, done.stderr
    return "garbage collector" in done.stderr


def run_python(code: str) -> subprocess.CompletedProcess:
    env = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)


def guard_level(direction: str) -> Callable[[Tools], str]:
    """What jaxlib is told; that it does so is in test_transfer_guards."""

    def observe(tools: Tools) -> str:
        level = getattr(runtime.guard_lib.global_state(), direction)
        return "none" if level is None else level.name.lower()

    return observe


def move_to_device() -> None:
    jnp.asarray(np.ones(3)) + 1


def move_between_devices() -> None:
    devices = ricci.devices()
    x = jnp.ones(4)  # may be moved, as it is not committed
    mesh = Mesh(np.array(devices[:2]), ("x",))
    where = ricci.sharding.NamedSharding(mesh, ricci.sharding.PartitionSpec("x"))
    jit(lambda x: x + 1, in_shardings=where)(x)


def dumped(tools: Tools) -> list[tuple[str, bool]]:
    """What is in the folder after a program was compiled: kinds of files, with locations or not."""
    folder = tools.folder / "dumped"
    if not config.jax_dump_ir_to:
        config.update("jax_dump_ir_to", str(folder))
        try:
            return dumped(tools)
        finally:
            config.update("jax_dump_ir_to", "")
    for file in folder.glob("*"):
        file.unlink()
    jit(lambda x: x * 7)(1.0)
    return sorted((f.suffix, "loc(" in f.read_text()) for f in folder.iterdir())


def dumped_anywhere(tools: Tools) -> bool:
    tools.monkeypatch.chdir(tools.folder)
    before = set(tools.folder.rglob("*.mlir"))
    jit(lambda x: x * 8)(1.0)
    return set(tools.folder.rglob("*.mlir")) != before


def cached(least_seconds: float | None = 0.0) -> Callable[[Tools], int]:
    """How many programs are kept on disk of two that differ in the names of operations alone."""

    def observe(tools: Tools) -> int:
        folder = tools.folder / "cache"
        with ExitStack() as stack:
            stack.enter_context(config.state("jax_compilation_cache_dir")(str(folder)))
            if least_seconds is not None:
                name = "jax_persistent_cache_min_compile_time_secs"
                stack.enter_context(config.state(name)(least_seconds))
            for scope in "ab":

                def scaled(x, scope=scope):
                    with ricci.named_scope(scope):
                        return x * 11

                jit(scaled)(1.0)
        found = list(folder.glob("*.program"))
        for file in found:
            file.unlink()
        return len(found)

    return observe


def cached_in_a_folder(tools: Tools) -> bool:
    """Whether a program is kept where the option says, as seen from the current folder."""
    tools.monkeypatch.chdir(tools.folder)
    with config.state("jax_persistent_cache_min_compile_time_secs")(0):
        jit(lambda x: x * 12)(1.0)
    found = list(tools.folder.rglob("*.program"))
    for file in found:
        file.unlink()
    return bool(found)


def broken_cache(tools: Tools) -> str:
    """What comes of a folder for compiled programs that is a file."""
    path = tools.folder / "file"
    path.touch()
    reset_cache()
    with config.state("jax_compilation_cache_dir")(str(path)):
        with config.state("jax_persistent_cache_min_compile_time_secs")(0):
            return outcome(lambda: jit(lambda x: x * 13)(1.0))


def autotuning_folder(tools: Tools) -> str:
    """Where XLA keeps what it has found out about fusions on a GPU."""
    options = compile_options(ricci.devices()[:1])
    use_xla_caches(options, "cuda", "kept")
    return options.executable_build_options.debug_options.xla_gpu_per_fusion_autotune_cache_dir


def compiled_with(attribute: str) -> Callable[[Tools], Any]:
    """What XLA is told about how to compile."""

    def observe(tools: Tools) -> Any:
        found = [compile_options(ricci.devices()[:1])]  # parts do not keep the whole alive
        for name in attribute.split("."):
            found.append(getattr(found[-1], name))
        return found[-1]

    return observe


def told_to_cpu(argument: str) -> Callable[[Tools], Any]:
    """What jaxlib is told when it makes the client of the CPU."""

    def observe(tools: Tools) -> Any:
        given = {}
        with tools.monkeypatch.context() as patch:
            patch.setattr(xla_client, "make_cpu_client", lambda **kwargs: given.update(kwargs))
            _client._make_cpu_client({})
        return given[argument]

    return observe


def chosen_platforms(tools: Tools) -> list[str] | str:
    with tools.monkeypatch.context() as patch:
        patch.setattr(xla_client, "make_cpu_client", lambda **kwargs: "client")
        patch.setattr(_client, "find_plugins", dict)
        try:
            return list(_client._Clients().make())
        except RuntimeError as error:
            return str(error).splitlines()[0]


def chosen_collectives(tools: Tools) -> str:
    made = []
    with tools.monkeypatch.context() as patch:
        patch.setattr(
            runtime, "make_gloo_tcp_collectives", lambda **kwargs: made.append("gloo"), raising=True
        )
        patch.setattr(
            runtime,
            "make_mpi_collectives",
            lambda: made.append("mpi") or type("Mpi", (), {"Init": lambda self: None})(),
        )
        _client._cpu_cluster({"client": object(), "process_id": 0, "num_processes": 1})
    return made[0]


def decomposition_on_gpu(tools: Tools) -> str:
    """Which library an eigenvalue decomposition is lowered to on a GPU."""
    jaxpr = make_jaxpr(lambda x: lax.linalg.eig(x))(np.eye(3, dtype=np.float32))
    text = lower_jaxpr(jaxpr, "f", platform="cuda")
    return text.partition("magma = ")[2].split('"')[1]


def writes_the_newest(tools: Tools) -> bool:
    """Whether functions are exported with the newest version of StableHLO."""
    stablehlo = importlib.import_module("jaxlib.mlir._mlir_libs._stablehlo")
    module = export(jit(lambda x: x + 1))(1.0).mlir_module_serialized
    return f"StableHLO_v{stablehlo.get_current_version()}".encode() in module


def read_old_export() -> None:
    """Read a function as JAX wrote them with the calling convention 8."""
    exported = export(jit(jnp.sin))(1.0)
    old = dataclasses.replace(exported, calling_convention_version=8)
    deserialize(old.serialize(format="jax"))


def joining(what: str) -> Callable[[Tools], Any]:
    """What ``distributed.initialize`` asks of the runtime, which is not reached."""

    def observe(tools: Tools) -> Any:
        asked: dict[str, Any] = {"preemption": False}

        def service(address: str, count: int, security: Any, **options: Any) -> Any:
            asked.update(security._asdict(), **options)
            return SimpleNamespace(shutdown=lambda: None)

        def preemption(client: Any) -> Any:
            asked["preemption"] = True
            return SimpleNamespace(shutdown=lambda: None)

        with tools.monkeypatch.context() as patch:
            patch.setattr(_initialize, "backends_are_made", lambda: False)
            patch.setattr(_initialize, "start_coordination_service", service)
            client = SimpleNamespace(shutdown=lambda: None)
            patch.setattr(_initialize, "connect_to_coordinator", lambda *args, **kwargs: client)
            patch.setattr(_initialize, "set_distributed_client", lambda *args: None)
            patch.setattr(_initialize, "start_preemption_service", preemption)
            _initialize.initialize("127.0.0.1:1", 1, 0)
            _initialize.shutdown()
        asked["logged"] = "rank 0 of 1" in tools.capfd.readouterr().err
        return asked[what]

    return observe


DEMONSTRATIONS: dict[str, Row] = {
    # what is checked
    "jax_enable_checks": Row(True, raising(fickle_program), "ok", "JaxprTypeError"),
    "jax_debug_key_reuse": Row(True, raising(use_key_twice), "ok", "KeyReuseError"),
    "jax_check_tracer_leaks": Row(True, raising(leak), "ok", "UnexpectedTracerError"),
    "jax_check_static_indices": Row(True, raising(lambda: jnp.arange(3)[3]), "ok", "IndexError"),
    "jax_captured_constants_warn_bytes": Row(1000, raising(close_over), "ok", "UserWarning"),
    "jax_debug_nans": Row(True, raising(lambda: jnp.log(-1.0)), "ok", "FloatingPointError"),
    "jax_debug_infs": Row(True, raising(lambda: jnp.exp(1e3)), "ok", "FloatingPointError"),
    "jax_export_calling_convention_version": Row(
        9, lambda tools: export(jit(jnp.sin))(1.0).calling_convention_version, 10, 9
    ),
    "jax_export_ignore_forward_compatibility": Row(True, writes_the_newest, False, True),
    "jax_export_deserialize_expired_versions": Row(
        True, raising(read_old_export), "FileError", "ok"
    ),
    "jax_error_checking_behavior_nan": Row(
        "raise", raising(lambda: jit(lambda x: jnp.log(x))(-1.0)), "ok", "ValueError"
    ),
    "jax_error_checking_behavior_divide": Row(
        "raise", raising(lambda: jnp.arange(3) // 0), "ok", "ValueError"
    ),
    "jax_error_checking_behavior_oob": Row(
        "raise", raising(lambda: jit(lambda x, i: x[i])(jnp.ones(3), 7)), "ok", "ValueError"
    ),
    "jax_disable_bwd_checks": Row(True, raising(wrong_cotangent), "ValueError", "ok"),
    "jax_auto_pcast": Row(False, raising(add_a_shared_value), "ok", "ValueError"),
    "jax_disallow_mesh_context_manager": Row(True, raising(enter_mesh), "ok", "RuntimeError"),
    "jax_numpy_rank_promotion": Row(
        "raise", raising(lambda: jnp.ones((2, 3)) + jnp.ones(3)), "ok", "ValueError"
    ),
    "jax_numpy_dtype_promotion": Row(
        "strict",
        raising(lambda: jnp.ones(3, jnp.int32) + jnp.ones(3, jnp.float32)),
        "ok",
        "TypePromotionError",
    ),
    "jax_explicit_x64_dtypes": Row(
        "error", raising(lambda: jnp.ones(2, "float64")), "UserWarning", "ValueError"
    ),
    "jax_no_tracing": Row(True, raising(lambda: jit(lambda x: x)(1.0)), "ok", "RuntimeError"),
    "jax_no_execution": Row(True, raising(lambda: jit(lambda x: x)(1.0)), "ok", "RuntimeError"),
    "jax_traceback_filtering": Row("off", frames_in_traceback, False, True),
    # random numbers
    "jax_legacy_prng_key": Row(
        "error", raising(lambda: random.normal(random.PRNGKey(0))), "ok", "ValueError"
    ),
    "jax_random_seed_offset": Row(5, lambda tools: random.PRNGKey(0).tolist(), [0, 0], [0, 5]),
    "jax_enable_custom_prng": Row(
        True, lambda tools: str(random.PRNGKey(0).dtype), "uint32", "key<fry>"
    ),
    "jax_default_prng_impl": Row(
        "rbg", lambda tools: str(random.key(0).dtype), "key<fry>", "key<rbg>"
    ),
    "jax_threefry_partitionable": Row(
        False,
        lambda tools: random.bits(random.key(0), (2,)).tolist(),
        [4070199207, 4202968722],
        [928981903, 3453687069],
    ),
    "jax_high_dynamic_range_gumbel": Row(
        True,
        lambda tools: "log1p" in str(make_jaxpr(random.gumbel)(random.key(0))),
        False,
        True,
    ),
    # what programs are
    "jax_enable_x64": Row(True, lambda tools: jnp.arange(3).dtype.name, "int32", "int64"),
    "jax_default_device": Row(
        "device 1", lambda tools: [d.id for d in jnp.ones(3).devices()], [0], [1]
    ),
    "jax_disable_jit": Row(True, runs_of_the_body, 1, 3),
    "jax_default_matmul_precision": Row(
        "highest",
        lambda tools: "HIGHEST" in str(make_jaxpr(jnp.dot)(jnp.ones(2), jnp.ones(2))),
        False,
        True,
    ),
    "jax_softmax_custom_jvp": Row(
        True,
        lambda tools: "custom_jvp" in str(make_jaxpr(nn.softmax)(jnp.ones(3))),
        False,
        True,
    ),
    "jax_use_magma": Row("off", decomposition_on_gpu, "auto", "off"),
    # what is said
    "jax_log_compiles": Row(
        True, logged("ricci.compile", lambda: jit(lambda x: x + 2)(1.0)), False, True
    ),
    "jax_explain_cache_misses": Row(True, logged("ricci.tracing", trace_twice), False, True),
    "jax_log_checkpoint_residuals": Row(
        True, logged("ricci.checkpoint", lambda: grad(ricci.checkpoint(jnp.sin))(1.0)), False, True
    ),
    "jax_logging_level": Row("DEBUG", said_on_stderr, False, True),
    "jax_debug_log_modules": Row("ricci.compile", said_on_stderr, False, True),
    "jax_dump_ir_to": Row("here", dumped_anywhere, False, True),
    "jax_dump_ir_modes": Row(
        "jaxpr,stablehlo", dumped, [(".mlir", True)], [(".mlir", True), (".txt", False)]
    ),
    "jax_include_debug_info_in_dumps": Row(False, dumped, [(".mlir", True)], [(".mlir", False)]),
    # what XLA is told
    "jax_optimization_level": Row(
        "O1", compiled_with("executable_build_options.optimization_level"), 0, 19
    ),
    "jax_memory_fitting_level": Row(
        "O0", compiled_with("executable_build_options.memory_fitting_level"), 29, 9
    ),
    "jax_disable_most_optimizations": Row(
        True,
        compiled_with("executable_build_options.debug_options.xla_backend_optimization_level"),
        3,
        0,
    ),
    "jax_compiler_enable_remat_pass": Row(
        False,
        compiled_with("executable_build_options.debug_options.xla_disable_hlo_passes"),
        "",
        "rematerialization",
    ),
    "jax_xla_profile_version": Row(3, compiled_with("profile_version"), 0, 3),
    # what is kept on disk
    "jax_compilation_cache_dir": Row("kept", cached_in_a_folder, False, True),
    "jax_enable_compilation_cache": Row(False, cached(), 1, 0),
    "jax_persistent_cache_min_compile_time_secs": Row(0, cached(None), 0, 1),
    "jax_persistent_cache_min_entry_size_bytes": Row(10**9, cached(), 1, 0),
    "jax_compilation_cache_max_size": Row(0, cached(), 1, 0),
    "jax_compilation_cache_include_metadata_in_key": Row(True, cached(), 1, 2),
    "jax_raise_persistent_cache_errors": Row(True, broken_cache, "UserWarning", "FileExistsError"),
    "jax_persistent_cache_enable_xla_caches": Row(
        "none", autotuning_folder, "kept/xla_gpu_per_fusion_autotune_cache_dir", ""
    ),
    # devices
    "jax_platforms": Row(
        "nowhere",
        chosen_platforms,
        ["cpu"],
        "jax_platforms='nowhere' asks for the platform 'nowhere', which is not installed.",
    ),
    "jax_platform_name": Row(
        "elsewhere",
        chosen_platforms,
        ["cpu"],
        "jax_platforms=None asks for the platform 'elsewhere', which is not installed.",
    ),
    "jax_num_cpu_devices": Row(3, told_to_cpu("num_devices"), None, 3),
    "jax_cpu_enable_async_dispatch": Row(False, told_to_cpu("asynchronous"), True, False),
    "jax_cpu_get_local_topology_timeout_minutes": Row(
        9, told_to_cpu("get_local_topology_timeout_minutes"), 2, 9
    ),
    "jax_cpu_get_global_topology_timeout_minutes": Row(
        9, told_to_cpu("get_global_topology_timeout_minutes"), 5, 9
    ),
    "jax_cpu_collectives_implementation": Row("mpi", chosen_collectives, "gloo", "mpi"),
    "jax_cuda_visible_devices": Row(
        "0,2", lambda tools: _plugins.visible_devices(), {}, {"visible_devices": [0, 2]}
    ),
    "jax_pjrt_client_create_options": Row(
        "a:1;b:x:y", lambda tools: _plugins.client_options(), {}, {"a": "1", "b": "x:y"}
    ),
    # guards
    # several processes
    "jax_mtls_cert_file": Row("own.pem", joining("mtls_cert_file"), None, "own.pem"),
    "jax_mtls_key_file": Row("own.key", joining("mtls_key_file"), None, "own.key"),
    "jax_mtls_ca_file": Row("ca.pem", joining("mtls_ca_file"), None, "ca.pem"),
    "jax_mtls_peer_uri_prefix": Row("spiffe:", joining("mtls_peer_uri_prefix"), None, "spiffe:"),
    "jax_distributed_verify_secure_credentials": Row(
        True, joining("verify_secure_credentials"), False, True
    ),
    "jax_enable_recoverability": Row(True, joining("recoverable"), False, True),
    "jax_enable_preemption_service": Row(False, joining("preemption"), True, False),
    "jax_distributed_debug": Row(True, joining("logged"), False, True),
    "jax_transfer_guard": Row("log", guard_level("device_to_device"), "none", "log"),
    "jax_transfer_guard_host_to_device": Row(
        "disallow", raising(move_to_device), "ok", "JaxRuntimeError"
    ),
    "jax_transfer_guard_device_to_device": Row(
        "disallow", raising(move_between_devices), "ok", "JaxRuntimeError"
    ),
    "jax_transfer_guard_device_to_host": Row(
        "disallow", guard_level("device_to_host"), "none", "disallow"
    ),
    "jax_array_garbage_collection_guard": Row("log", free_a_cycle, False, True),
}

# Set by the tests' own configuration; their demonstrations start from the default all the same.
_SET_BY_TESTS = ("jax_platforms", "jax_num_cpu_devices")


def test_every_honoured_option_is_demonstrated():
    honoured = [name for name, option in OPTIONS.items() if option.status is Status.HONOURED]
    assert set(DEMONSTRATIONS) == set(honoured)


@pytest.fixture
def tools(monkeypatch, tmp_path, capfd, request):
    ricci.devices()  # made with what the tests' configuration sets
    for name in _SET_BY_TESTS:
        monkeypatch.setattr(config.state(name), "_global", OPTIONS[name].default)
    if request.node.callspec.params["name"] in _client._CLIENT_OPTIONS:
        monkeypatch.setattr(_client._clients, "made", None)  # as before there are devices
    return Tools(monkeypatch, tmp_path, capfd)


@pytest.mark.parametrize("name", DEMONSTRATIONS)
def test_an_honoured_option_changes_what_it_says(name, tools):
    row = DEMONSTRATIONS[name]
    assert row.default != row.changed
    value = ricci.devices()[1] if name == "jax_default_device" else row.value
    assert row.observe(tools) == row.default
    config.update(name, value)
    try:
        assert row.observe(tools) == row.changed
    finally:
        config.update(name, OPTIONS[name].default)
    assert row.observe(tools) == row.default  # and the process goes on


STRICT = [name for name, strict in _client._CLIENT_OPTIONS.items() if strict]
LATE = {"jax_platforms": "tpu", "jax_cuda_visible_devices": "0"}


@pytest.mark.parametrize("name", STRICT)
def test_devices_cannot_be_counted_anew(name):
    """As in the oracle, whose class of error this is."""
    ricci.devices()
    before = config.read(name)
    with pytest.raises(RuntimeError, match=f"{name}=77 comes too late"):
        config.update(name, 77)
    assert config.read(name) == before
    config.update(name, before)


@pytest.mark.parametrize("name", LATE)
def test_platforms_are_chosen_before_there_are_devices(name):
    ricci.devices()
    before = config.read(name)
    with pytest.warns(UserWarning, match=f"{name}='{LATE[name]}' comes too late"):
        config.update(name, LATE[name])
    config.update(name, before)


def test_the_platform_in_use_may_be_chosen_again():
    platform = next(iter(_client.backends()))
    before = config.jax_platforms
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        config.update("jax_platforms", platform)
        config.update("jax_platforms", before)


def test_an_override_is_of_its_thread():
    seen = []
    with config.state("jax_debug_nans")(True):
        thread = threading.Thread(target=lambda: seen.append(outcome(lambda: jnp.log(-1.0))))
        thread.start()
        thread.join()
        seen.append(outcome(lambda: jnp.log(-1.0)))
    assert seen == ["ok", "FloatingPointError"]


def test_fatal_garbage_collection_ends_the_process():
    code = (
        "import gc, ricci.numpy as jnp\n"
        "from ricci import array_garbage_collection_guard\n"
        "cycle = [jnp.ones(3) + 1]\ncycle.append(cycle)\ndel cycle\n"
        "with array_garbage_collection_guard('fatal'):\n    gc.collect()\nprint('alive')"
    )
    done = run_python(code)
    assert done.returncode != 0 and "alive" not in done.stdout


def test_unknown_dump_modes_are_said(tmp_path):
    config.update("jax_dump_ir_to", str(tmp_path))
    config.update("jax_dump_ir_modes", "eqn_count_pprof")
    try:
        with pytest.warns(UserWarning, match="'eqn_count_pprof', which is not supported"):
            jit(lambda x: x * 9)(1.0)
    finally:
        config.update("jax_dump_ir_modes", "stablehlo")
        config.update("jax_dump_ir_to", "")


def test_the_document_is_the_table():
    assert (ROOT / "docs" / "guides" / "options.md").read_text() == options_table.text()


# Beside the oracle.

WRONG = ["zz", 3, None, [1], 2.5]

# Run with each library's namespace; gives what JSON can hold.
_DESCRIPTION = """
import enum, warnings
config = namespace.config

def plain(value):
    return [type(value).__name__, value.name] if isinstance(value, enum.Enum) else value

def refused(name, wrong):
    before = config.values[name]
    try:
        config.update(name, wrong)
    except Exception as error:
        return type(error).__name__
    config.update(name, before)
    return None

warnings.simplefilter("ignore")
described = {
    "defaults": {name: plain(value) for name, value in config.values.items()},
    "values": {name: config.meta[name][2].get("enum_values") for name in config.values},
    "types": {name: str(config.meta[name][0]) for name in config.values},
    "contexts": sorted(n for n, x in vars(namespace).items() if type(x).__name__ == "State"),
    "refused": {name: [refused(name, wrong) for wrong in WRONG] for name in config.values},
}
"""


def described(python: str, module: str, path: str) -> dict[str, Any]:
    """What a library says of its options, asked in a process of its own."""
    code = (
        f"import {module} as namespace, json\nWRONG = {WRONG!r}\n{_DESCRIPTION}\n"
        "print(json.dumps(described))"
    )
    ours = ("JAX_", "RICCI_", "PYTHONPATH")
    env = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    done = subprocess.run(
        [python, "-c", code], env={**env, "PYTHONPATH": path}, capture_output=True, text=True
    )
    assert not done.returncode, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def both() -> tuple[dict[str, Any], dict[str, Any]]:
    """What we say, and what the oracle says."""
    ours = described(sys.executable, "ricci", ":".join(sys.path))
    return ours, described(os.environ["RICCI_ORACLE_PYTHON"], "jax", "")


OWN_CONTEXTS = {"two_stage_compilation"}  # those that JAX does not have


@oracle_only
@pytest.mark.parametrize("what", ["defaults", "values", "contexts"])
def test_options_are_the_oracles(both, what):
    ours, theirs = both
    if what == "contexts":
        assert set(ours[what]) - OWN_CONTEXTS == set(theirs[what])
    else:
        assert ours[what] == theirs[what]
        assert list(ours[what]) == list(theirs[what])


@oracle_only
def test_wrong_values_are_refused_as_by_the_oracle(both):
    """Where the oracle takes any value, we may refuse one; never the other way round."""
    ours, theirs = both
    differ = {
        (name, str(wrong)): (mine, other)
        for name in ours["refused"]
        for wrong, mine, other in zip(
            WRONG, ours["refused"][name], theirs["refused"][name], strict=True
        )
        if other is not None and mine != other
    }
    assert not differ


@oracle_only
def test_what_is_refused_beyond_the_oracle(both):
    ours, theirs = both
    stricter = {
        OPTIONS[name].kind.described()
        for name in ours["refused"]
        if any(
            mine and not other
            for mine, other in zip(ours["refused"][name], theirs["refused"][name], strict=True)
        )
    }
    # A word that is no truth value is no switch, and a number is no text.
    assert stricter <= {"true, false", "true, false, none", "str, none", "int, none"}
