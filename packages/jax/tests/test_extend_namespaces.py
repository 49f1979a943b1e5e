"""``jax.extend`` for platforms, programs and MLIR, and ``jax.interpreters.pxla``."""

import os
import subprocess
import sys

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax._src.lib.mlir import ir as private_ir
from jax._src.lib.mlir.dialects import hlo
from jax.extend import lowering, pallas
from jax.extend.backend import backend_xla_version
from jax.extend.mlir import ir
from jax.extend.mlir.dialects import stablehlo
from jax.extend.xla import (
    PipelineStage,
    clear_hlo_module_transformation,
    register_hlo_module_transformation,
)
from jax.interpreters import mlir, pxla

X = np.arange(3, dtype=np.float32)


def test_bindings_of_mlir():
    assert private_ir is ir is mlir.ir
    assert hlo is stablehlo
    assert lowering.LoweringRuleContext is mlir.LoweringRuleContext
    with mlir.make_ir_context() as context:
        assert isinstance(context, lowering.JaxIrContext)
    with ir.Context() as own:
        own.append_dialect_registry(lowering.upstream_dialects)
        own.load_all_available_dialects()
        assert ir.Module.parse("module { func.func private @f() { return } }").operation.verify()


def test_pallas_raises_that_it_is_unsupported():
    with pytest.raises(NotImplementedError, match=r"Pallas.*ffi_call"):
        pallas.register_lowering_rule(int, lambda: None, "tpu")
    with pytest.raises(NotImplementedError, match="GridMapping"):
        pallas.GridMapping((1,))


STAGES = list(PipelineStage)


@pytest.mark.parametrize("stage", STAGES)
def test_a_function_sees_the_programs_that_are_compiled(stage, tmp_path):
    before = jax.config.jax_compilation_cache_dir
    jax.config.update("jax_compilation_cache_dir", str(tmp_path))
    seen: list[bytes] = []
    register_hlo_module_transformation(seen.append, name="sees", stage=stage)
    try:
        # Compiled in spite of the cache, and not kept there.
        for _ in range(2):
            assert jax.jit(lambda x: x * (5.0 + stage))(2.0) == 2 * (5.0 + stage)
            jax.clear_caches()
        assert len(seen) >= 2
        assert all(type(module) is bytes for module in seen)
    finally:
        assert clear_hlo_module_transformation("sees", stage, platforms="cpu")
        jax.config.update("jax_compilation_cache_dir", before)
    assert not clear_hlo_module_transformation("sees", stage)
    count = len(seen)
    assert jax.jit(lambda x: x * 11.0)(2.0) == 22.0
    assert len(seen) == count


def test_an_error_of_the_function_is_the_compilations():
    def refuse(module):
        raise ValueError("not this one")

    register_hlo_module_transformation(refuse, name="refuses", platforms=["cpu"])
    try:
        with pytest.raises(jax.errors.JaxRuntimeError, match="not this one"):
            jax.jit(lambda x: x * 6.0)(2.0)
    finally:
        clear_hlo_module_transformation("refuses")
    assert jax.jit(lambda x: x * 6.0)(2.0) == 12.0
    with pytest.raises(jax.errors.JaxRuntimeError):
        register_hlo_module_transformation(refuse, name="refuses", platforms="nowhere")


PLATFORMS = """
import jax, jax.numpy as jnp
from jaxlib import xla_client
from jax.extend import backend
from jax.extend.backend import clear_backends, get_backend, register_backend_factory
made = []
def make():
    made.append(1)
    return xla_client.make_cpu_client(num_devices=2)
register_backend_factory("mine", make, priority=1000, fail_quietly=False)
register_backend_factory("behind", make, priority=-1)
register_backend_factory("broken", lambda: 1 / 0)
assert not made
assert len(jax.devices()) == 2 and list(jax.extend.backend.backends()) == ["mine", "cpu", "behind"]
assert jax.devices("mine") == jax.devices() != jax.devices("cpu")
assert (jnp.arange(3) + 1).devices() <= set(jax.devices("mine"))
assert jax.jit(jnp.sum)(jnp.arange(3.0)) == 3.0
for name, message in {"broken": "division by zero", "late": "no backend named"}.items():
    try:
        get_backend(name)
    except RuntimeError as error:
        assert message in str(error), error
    else:
        raise AssertionError(name)
    register_backend_factory("late", make)
try:
    register_backend_factory("mine", make)
except RuntimeError as error:
    assert "made already" in str(error)
else:
    raise AssertionError
class Cache:
    cleared = 0

    def cache_clear(self):
        self.cleared += 1
cache = Cache()
backend.register_backend_cache(cache, "tests")
clear_backends()
assert cache.cleared == 1 and jax.devices("late")
print("done")
"""


def test_platforms_of_a_library():
    # In a process of its own, since the devices of this one are in use, with any platform.
    chosen = ("JAX_PLATFORMS", "RICCI_PLATFORMS")
    environment = {name: value for name, value in os.environ.items() if name not in chosen}
    command = [sys.executable, "-c", PLATFORMS]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (done.stdout, done.returncode) == ("done\n", 0), done.stderr


def test_the_version_of_xla_behind_a_client():
    assert backend_xla_version("cpu") is None


def test_the_mesh_that_is_entered():
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("a",))
    assert pxla.thread_resources.env.physical_mesh.empty
    with mesh:
        env = pxla.thread_resources.env
        assert env.physical_mesh is mesh
        assert (dict(env.shape), env.resource_axes) == ({"a": len(jax.devices())}, {"a"})
    assert pxla.thread_resources.env.physical_mesh.empty


@pytest.mark.parametrize("keys", [False, True])
def test_arrays_of_the_parts_on_devices(keys):
    devices = jax.devices()
    mesh = jax.sharding.Mesh(np.array(devices), ("a",))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("a"))
    whole = jnp.arange(2 * len(devices))
    if keys:
        whole = jax.random.split(jax.random.key(0), len(devices))
    x = jax.device_put(whole, sharding)
    handler = pxla.global_avals_to_results_handler([jax.typeof(x)], [sharding], True)
    parts = [s.data for s in x.addressable_shards]
    if keys:
        parts = [jax.random.key_data(part) for part in parts]
    (result,) = handler([parts])
    assert (result == whole).all()
    assert result.sharding == sharding
    assert handler.out_avals == [jax.typeof(x)]


def test_a_lowered_program():
    assert isinstance(jax.jit(jnp.sin).lower(X), pxla.MeshComputation)
