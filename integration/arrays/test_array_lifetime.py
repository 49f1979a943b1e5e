"""Arrays end, by `delete()` or by being given away, while others still look at their memory.

A mistake here ends the process, so all combinations run in a process of their own, which says
before each what it will try.
"""

import subprocess
import sys

import pytest

pytest.importorskip("ricci_xla", reason="arrays need the runtime")

PROGRAM = """
import gc
import itertools
import numpy as np
import ricci as jax
import ricci.numpy as jnp

class Stranger:  # an array of another library: made of a capsule, which it gives away once
    def __init__(self, x):
        self.capsule, self.device = x.__dlpack__(), x.__dlpack_device__()
    def __dlpack__(self, **how):
        return self.capsule
    def __dlpack_device__(self):
        return self.device

views = {
    "asarray": np.asarray,
    "array": lambda x: np.array(x, copy=None),
    "np.from_dlpack": np.from_dlpack,
    "jnp.from_dlpack": jnp.from_dlpack,
    "copied": lambda x: jnp.from_dlpack(x, copy=True),
    "memoryview": memoryview,
    "capsule": lambda x: x.__dlpack__(),
    "stranger": Stranger,
    "stranger's": lambda x: np.from_dlpack(Stranger(x)),
    "pointer": lambda x: x.unsafe_buffer_pointer(),
    "shard": lambda x: np.from_dlpack(x.addressable_shards[0].data),
    "several": lambda x: (np.asarray(x), np.from_dlpack(x), jnp.from_dlpack(x)),
    "none": lambda x: None,
}
other = jax.devices()[-1]
add = jax.jit(lambda a: a + 1, donate_argnums=0)
ends = {
    "delete": lambda x: x.delete(),
    "donate": lambda x: add(x).block_until_ready(),
    "move": lambda x: jax.device_put(x, other, donate=True).block_until_ready(),
}
gc.freeze()  # collections need not walk what is imported
first = {"view": 0, "array": 1, "neither": None}
for (view, look), (end, finish), (gone, index) in itertools.product(
    views.items(), ends.items(), first.items()
):
    print(view, end, gone, flush=True)
    x = jnp.arange(1000, dtype="uint8") + 1
    seen = look(x)
    finish(x)
    held = [seen, x]
    del seen, x
    if index is not None:
        held[index] = None
        gc.collect()
    for part in held[0] if isinstance(held[0], tuple) else held[:1]:
        if isinstance(part, np.ndarray | jax.Array | memoryview):
            assert int(np.asarray(part)[3]) == 4
    if held[1] is not None and held[1].is_deleted():
        for use in (jnp.from_dlpack, np.from_dlpack, np.asarray, Stranger, repr, jnp.sin):
            try:
                use(held[1])
            except RuntimeError as error:
                assert "deleted" in str(error), error
            else:
                raise AssertionError(f"{use} took an array that was deleted")
    del held
    gc.collect()
print("end")
"""


def test_no_view_of_an_array_ends_the_process():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    tried = done.stdout.splitlines()
    assert done.returncode == 0, f"{tried[-1:]}: {done.stderr[-2000:]}"
    assert tried[-1] == "end"
    assert len(tried) == 13 * 3 * 3 + 1
