"""Completion in JAX's namespaces: the names that JAX documents, and those listed here."""

import csv
import importlib
from pathlib import Path
from types import ModuleType

import pytest

import ricci

SURFACE = Path(__file__).resolve().parents[2] / "tools" / "data" / "surface.tsv"
# Names of Ricci's own, and older ones of JAX that libraries still use.
OURS = {
    "jax": {
        *(
            "bucketed",
            "check",
            "find_nan",
            "fit_memory",
            "memory_plan",
            "native_kernels",
            "precision",
            "roll",
            "rolled_layers",
            "two_stage_compilation",
            "warm_start",
        ),
        *("custom_remat", "device_put_replicated", "device_put_sharded", "xla_computation"),
    },
    "jax.ad_checkpoint": {"checkpoint", "remat"},
    "jax.core": {"Jaxpr", "JaxprEqn", "Literal", "Primitive", "Var", "check_jaxpr"},
    "jax.custom_derivatives": {"GradAccum", "NullAccum", "ValAccum"},
    "jax.debug": {"caches", "find_nan"},
    "jax.distributed": {"ProcessFailure", "ProgramMismatch"},
    # JAX has the functions of ``serialization`` where tensorstore is installed.
    "jax.experimental.array_serialization.serialization": {
        *("async_deserialize", "async_serialize", "run_deserialization", "run_serialization")
    },
    "jax.experimental.array_serialization.tensorstore_impl": {
        *("run_deserialization", "run_serialization")
    },
    "jax.experimental.sparse": {
        *("BCOOProperties", "BCSRProperties", "bcoo_eliminate_zeros", "bcsr_eliminate_zeros")
    },
    "jax.ffi": {"TypeRegistration"},
    "jax.random": {"KeyArray", "KeyType"},
}
# One attribute for each primitive that there is.
EVERY_PRIMITIVE = "jax.extend.core.primitives"


def documented():
    """The names of each namespace in the table of JAX's public names."""
    found: dict[str, set[str]] = {}
    with open(SURFACE, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            found.setdefault(row["namespace"], set()).add(row["name"])
    del found[EVERY_PRIMITIVE]
    return found


DOCUMENTED = documented()


@pytest.mark.parametrize("namespace", DOCUMENTED)
def test_names_are_those_of_jax(namespace):
    try:
        module = importlib.import_module(namespace.replace("jax", "ricci", 1))
    except ModuleNotFoundError:
        return  # said to be absent: test_absent_modules
    listed = {name for name in dir(module) if not name.startswith("__")}
    inside = {n for n in listed if isinstance(getattr(module, n), ModuleType)}
    expected = DOCUMENTED[namespace] | OURS.get(namespace, set()) | inside
    assert listed - expected == set()


def test_unlisted_names_are_accessible():
    assert callable(ricci.lax.custom_jvp)
    assert isinstance(ricci.checkpoint_policies.Offloadable, type)
