"""`kernels.autotune`: refusals, times, estimates for described devices, and stored choices."""

import re
from functools import partial

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="candidates are compiled")

from kernel_cases.tiled import tiled_matmul

import ricci
import ricci.numpy as jnp
from ricci import kernels
from ricci.experimental import pallas as pl
from ricci.experimental import topologies
from ricci.sharding import SingleDeviceSharding

X = np.arange(2**12, dtype=np.float32)


def double(x, *, size):
    """Doubles in blocks; small ones do the work a thousand times."""

    def kernel(x, out):
        @pl.loop(0, 1000 if size == 1 else 1)
        def _(i):
            out[...] = x[...] * 2

    if x.size % size:
        raise ValueError(f"size={size} does not divide {x.size}")
    blocks = pl.BlockSpec((size,), lambda i: (i,))
    return pl.pallas_call(
        kernel,
        ricci.ShapeDtypeStruct(x.shape, x.dtype),
        grid=x.size // size,
        in_specs=[blocks],
        out_specs=blocks,
        interpret=True,
    )(x)


CANDIDATES = [{"size": 1}, {"size": 4096}, {"size": 3}]


@pytest.fixture
def cache_folder(tmp_path):
    before = ricci.config.jax_compilation_cache_dir
    ricci.config.update("jax_compilation_cache_dir", str(tmp_path))
    yield tmp_path
    ricci.config.update("jax_compilation_cache_dir", before)


def test_the_fastest_candidate_is_called_and_others_have_their_reasons():
    tuned = kernels.autotune(double, CANDIDATES)
    np.testing.assert_array_equal(tuned(X), X * 2)
    choice = tuned.choice(X)
    assert choice.options == {"size": 4096}
    one, all_, three = choice.trials
    assert one.seconds > all_.seconds > 0
    assert three.refusal == "ValueError: size=3 does not divide 4096"
    assert re.search(r"timed as interpreted on \w+, not as compiled for a TPU or GPU", str(choice))
    assert tuned.choice(ricci.ShapeDtypeStruct(X.shape, X.dtype)).options == {"size": 4096}


@pytest.mark.parametrize("x64", [False, True])
def test_a_tuned_function_is_transformed(x64):
    tuned = kernels.autotune(double, CANDIDATES[:2], repeats=1)
    with ricci.enable_x64(x64):
        for _ in range(2):
            np.testing.assert_array_equal(ricci.jit(tuned)(X), X * 2)
            np.testing.assert_array_equal(ricci.grad(lambda x: tuned(x).sum())(X), 2 + 0 * X)
            batch = ricci.jit(ricci.vmap(tuned))(np.stack([X, X]))
            np.testing.assert_array_equal(batch, np.stack([X, X]) * 2)
            ricci.clear_caches()


def test_a_choice_is_made_once_for_types():
    calls = []

    def counted(x, *, size):
        calls.append(size)
        return double(x, size=size)

    tuned = kernels.autotune(counted, CANDIDATES[:2], repeats=1)
    tuned.choice(X)
    assert sorted(calls) == [1, 4096]
    tuned.choice(jnp.asarray(X))
    tuned.choice(jnp.asarray(X) + 1)
    assert len(calls) <= 4
    tuned.choice(np.concatenate([X, X]))
    assert len(calls) > 4


def test_choices_are_stored_in_the_compilation_cache(cache_folder):
    first = kernels.autotune(double, CANDIDATES).choice(X)
    assert not first.is_stored
    (file,) = cache_folder.glob("*.tuning")
    again = kernels.autotune(double, CANDIDATES).choice(X)
    assert again.is_stored
    assert (again.options, again.trials) == (first.options, first.trials)
    assert not kernels.autotune(double, CANDIDATES[:2]).choice(X).is_stored
    file.write_bytes(b"damaged")
    with pytest.warns(UserWarning, match=re.escape(file.name)):
        assert not kernels.autotune(double, CANDIDATES).choice(X).is_stored


def test_without_a_usable_candidate_the_reasons_are_listed():
    with pytest.raises(ValueError, match="candidates is empty"):
        kernels.autotune(double, [])
    with pytest.raises(ValueError, match=r"refused\.\n  size=3: refused, ValueError: size=3 does"):
        kernels.autotune(double, CANDIDATES[2:])(X)


def test_on_a_described_device_the_fewest_bytes_are_moved():
    device = topologies.get_topology_desc("cpu:2").devices[0]
    x = ricci.ShapeDtypeStruct((64, 64), np.float32, sharding=SingleDeviceSharding(device))

    matmul = partial(tiled_matmul, interpret=True)
    choice = kernels.autotune(matmul, [{"size": 8}, {"size": 32}]).choice(x, x)
    assert choice.options == {"size": 32}
    small, large = (trial.transfers for trial in choice.trials)
    # Rows once, columns for each row of blocks, the product once.
    assert small == 4 * 64 * 64 * (1 + 8 + 1)
    assert large == 4 * 64 * 64 * (1 + 2 + 1)
    assert "the fewest bytes moved" in choice.basis


def test_of_equal_bytes_the_fewest_steps_are_taken():
    device = topologies.get_topology_desc("cpu:2").devices[0]
    x = ricci.ShapeDtypeStruct((64, 64), np.float32, sharding=SingleDeviceSharding(device))

    def copied(x, *, rows):
        spec = pl.BlockSpec((rows, 64), lambda i: (i, 0))
        out = ricci.ShapeDtypeStruct(x.shape, x.dtype)
        options = {"grid": 64 // rows, "in_specs": [spec], "out_specs": spec, "interpret": True}

        def body(x, out):
            out[...] = x[...]

        return pl.pallas_call(body, out, **options)(x)

    choice = kernels.autotune(copied, [{"rows": n} for n in (8, 32, 16)]).choice(x)
    assert len({trial.transfers for trial in choice.trials}) == 1
    assert choice.options == {"rows": 32}
