"""Observers of options: each returns a fact that a setting changes."""

import dataclasses
import importlib
import logging
import os
import re
import subprocess
import sys
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
import ricci_xla
from ricci import config, grad, jit, lax, make_jaxpr, random
from ricci.experimental import pallas as pl
from ricci.experimental import sparse
from ricci.export import deserialize, export
from ricci.extend.core import Primitive
from ricci_parallel.processes import _initialize
from ricci_stablehlo import kernel_descriptors, lower_jaxpr
from ricci_xla import Mesh, compile_options
from ricci_xla.cache import reset_cache, use_xla_caches
from ricci_xla.devices import _client, _cpu_client
from ricci_xla.devices._jaxlib import load_xla_client, runtime


class Tools(NamedTuple):
    """The names that an observer may use."""

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

leaked: list[Any] = []


def leak() -> None:
    leaked.clear()
    jit(lambda x: leaked.append(x) or x * 2)(1.0)


def use_key_twice() -> None:
    key = random.key(0)
    random.normal(key)
    random.normal(key)


def fickle_program() -> None:
    """A primitive whose result type differs each time it is computed."""
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
        handler.emit = lambda record: records.append(record)
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
        tb, has_own_frame = error.__traceback__, False
        while tb is not None:
            has_own_frame = has_own_frame or tb.tb_frame.f_globals["__name__"].startswith("ricci")
            tb = tb.tb_next
        return has_own_frame
    raise AssertionError("shapes that differ cannot be added")


def free_a_cycle(tools: Tools) -> bool:
    """Whether jaxlib reports that the garbage collector had to free an array."""
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
    """The level of the guard in jaxlib; test_transfer_guards checks its effect."""

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
    sharding = ricci.sharding.NamedSharding(mesh, ricci.sharding.PartitionSpec("x"))
    jit(lambda x: x + 1, in_shardings=sharding)(x)


def dumped(tools: Tools) -> list[tuple[str, bool]]:
    """The files of a compilation: their kinds, with locations or not."""
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
    """Count the executables on disk of two jaxprs that differ in operations' names alone."""

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
        programs = list(folder.glob("*.program"))
        for file in programs:
            file.unlink()
        return len(programs)

    return observe


def cached_in_a_folder(tools: Tools) -> bool:
    """Whether an executable is cached in the option's folder, relative to the current one."""
    tools.monkeypatch.chdir(tools.folder)
    with config.state("jax_persistent_cache_min_compile_time_secs")(0):
        jit(lambda x: x * 12)(1.0)
    programs = list(tools.folder.rglob("*.program"))
    for file in programs:
        file.unlink()
    return bool(programs)


def broken_cache(tools: Tools) -> str:
    """The outcome of a compilation whose cache folder is a file."""
    path = tools.folder / "file"
    path.touch()
    reset_cache()
    with config.state("jax_compilation_cache_dir")(str(path)):
        with config.state("jax_persistent_cache_min_compile_time_secs")(0):
            return outcome(lambda: jit(lambda x: x * 13)(1.0))


def autotuning_folder(tools: Tools) -> str:
    """The folder in which XLA caches its measurements of fusions on a GPU."""
    options = compile_options(ricci.devices()[:1])
    use_xla_caches(options, "cuda", "kept")
    return options.executable_build_options.debug_options.xla_gpu_per_fusion_autotune_cache_dir


def compiled_with(attribute: str) -> Callable[[Tools], Any]:
    """The options of compilation that XLA receives."""

    def observe(tools: Tools) -> Any:
        parts = [compile_options(ricci.devices()[:1])]  # parts do not keep the whole alive
        for name in attribute.split("."):
            parts.append(getattr(parts[-1], name))
        return parts[-1]

    return observe


def told_to_cpu(argument: str) -> Callable[[Tools], Any]:
    """The options with which jaxlib creates the client of the CPU."""

    def observe(tools: Tools) -> Any:
        received = {}
        with tools.monkeypatch.context() as patch:
            patch.setattr(
                load_xla_client(), "make_cpu_client", lambda **kwargs: received.update(kwargs)
            )
            _cpu_client.make_cpu_client({})
        return received[argument]

    return observe


def chosen_platforms(tools: Tools) -> list[str] | str:
    with tools.monkeypatch.context() as patch:
        patch.setattr(load_xla_client(), "make_cpu_client", lambda **kwargs: "client")
        patch.setattr(_client._plugins, "find_plugins", dict)
        try:
            return list(_client._Clients().make())
        except RuntimeError as error:
            return str(error).splitlines()[0]


def chosen_collectives(tools: Tools) -> str:
    created = []
    with tools.monkeypatch.context() as patch:
        patch.setattr(
            runtime,
            "make_gloo_tcp_collectives",
            lambda **kwargs: created.append("gloo"),
            raising=True,
        )
        patch.setattr(
            runtime,
            "make_mpi_collectives",
            lambda: created.append("mpi") or type("Mpi", (), {"Init": lambda self: None})(),
        )
        _cpu_client.cpu_cluster({"client": object(), "process_id": 0, "num_processes": 1})
    return created[0]


def decomposition_on_gpu(tools: Tools) -> str:
    """The library that computes an eigenvalue decomposition on a GPU."""
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
    """The arguments of ``distributed.initialize`` for the runtime, which is not reached."""

    def observe(tools: Tools) -> Any:
        asked: dict[str, Any] = {"preemption": False}

        def service(address: str, count: int, security: Any, **options: Any) -> Any:
            asked.update(security._asdict(), **options)
            return SimpleNamespace(shutdown=lambda: None)

        def preemption(client: Any) -> Any:
            asked["preemption"] = True
            return SimpleNamespace(shutdown=lambda: None)

        with tools.monkeypatch.context() as patch:
            patch.setattr(ricci_xla, "backends_are_made", lambda: False)
            patch.setattr(ricci_xla, "start_coordination_service", service)
            client = SimpleNamespace(shutdown=lambda: None)
            patch.setattr(ricci_xla, "connect_to_coordinator", lambda *args, **kwargs: client)
            patch.setattr(ricci_xla, "set_distributed_client", lambda *args: None)
            patch.setattr(ricci_xla, "start_preemption_service", preemption)
            _initialize.initialize("127.0.0.1:1", 1, 0)
            _initialize.shutdown()
        asked["logged"] = "rank 0 of 1" in tools.capfd.readouterr().err
        return asked[what]

    return observe


def kernels_of_sparse_products(tools: Tools) -> list[str]:
    """Lower a product of a BCOO matrix for NVIDIA GPUs; return the kernels that it calls."""
    folder = Path(__file__).parents[1] / "gpu_cases" / "plugin" / "jax_cuda13_plugin"
    tools.monkeypatch.syspath_prepend(folder)
    descriptors = importlib.import_module("_sparse")
    describe = lambda platform, library: descriptors if platform == "cuda" else None
    tools.monkeypatch.setattr(kernel_descriptors, "call", describe)
    matrix = sparse.BCOO.fromdense(np.eye(3, dtype=np.float32))
    product = jit(lambda matrix, x: matrix @ x).trace(matrix, np.ones(3, np.float32))
    text = product.lower(lowering_platforms=("cuda",)).as_text()
    return re.findall(r"cusparse_\w+", text)


def failed_check_in_kernel() -> None:
    """Run an interpreted kernel, a check of which fails."""

    def kernel(x: Any, out: Any) -> None:
        pl.debug_check(x[0] > 0, "the first element is positive")
        out[...] = x[...]

    call = pl.pallas_call(kernel, ricci.ShapeDtypeStruct((2,), jnp.float32), interpret=True)
    ricci.block_until_ready(call(-jnp.ones(2)))
