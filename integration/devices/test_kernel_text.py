"""The text of kernels for TPUs, evaluated with NumPy, beside the interpreter; no TPU is needed."""

import re

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="compiled programs need the runtime")

from kernel_cases import KERNELS, OPERATIONS, Kernel, kernel_texts, operation_kernel

import ricci
from ricci import lax
from ricci.experimental import pallas as pl
from ricci.experimental.pallas import tpu as pltpu
from ricci.sharding import AxisType
from ricci.sharding import PartitionSpec as P

X = ricci.ShapeDtypeStruct((8, 128), np.float32)
# The operands of a kernel, where they are not those of the function around it.
OPERANDS = {
    "captured array": lambda x: [x, np.arange(128, dtype=np.float32).reshape(1, 128)],
    "dropout by a hash": lambda seed, x: [seed.reshape(1), x],
    "halo of neighbours": lambda x: [x, x, x],
    "vmap of prefetched permutations": lambda order, x: [order % 4, x],
    "vmap of prefetched permutations of one array": lambda order, x: [order % 4, x],
}
# The evaluator rounds to bfloat16 after each operation; XLA's CPU compiler after some.
TOLERANCES = {"bfloat16": 1e-2}


def lower(function, *types):
    return ricci.jit(function).trace(*types).lower(lowering_platforms=("tpu",)).as_text()


def tolerance(name):
    return next((value for word, value in TOLERANCES.items() if word in name), 2e-3)


@pytest.mark.sampled(32)
@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_computes_what_it_computes_outside_of_kernels(name):
    function = OPERATIONS[name]
    x = np.random.default_rng(0).uniform(0.05, 0.9, X.shape).astype(X.dtype)
    (text,) = kernel_texts(lower(operation_kernel(function), X))
    expected = np.asarray(ricci.jit(function)(x))
    (result,) = Kernel(text).run([x], [(expected.shape, expected.dtype)], {})
    rtol = tolerance(name)
    np.testing.assert_allclose(result, expected, rtol, rtol * 1e-2)


def operand(generator, aval):
    """An array of a type; integers are a permutation, so that they are positions as well."""
    if aval.dtype == np.int32:
        values = generator.permutation(aval.size) if aval.shape else 2
        return np.asarray(values, np.int32).reshape(aval.shape)
    if aval.dtype.name == "int4":
        return generator.integers(-8, 8, aval.shape).astype(aval.dtype)
    if aval.dtype in (np.bool_, np.int8):
        return generator.integers(0, 2, aval.shape).astype(aval.dtype)
    return generator.uniform(0.05, 1.9, aval.shape).astype(aval.dtype)


@pytest.mark.sampled(26)
@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_computes_what_the_interpreter_computes(name):
    function, types = KERNELS[name]
    generator = np.random.default_rng(0)
    args = [operand(generator, aval) for aval in types]
    module = lower(lambda *xs: function(*xs), *types)
    (text,) = kernel_texts(module)
    with pltpu.force_tpu_interpret_mode():
        results = ricci.tree.leaves(ricci.jit(function)(*args))
    expected = [np.asarray(x) for x in results]
    operands = OPERANDS.get(name, lambda *xs: xs)(*args)
    stored = [x.astype(np.int32) if x.dtype == bool else x for x in operands]
    outs = [(x.shape, np.int32 if x.dtype == bool else x.dtype) for x in expected]
    aliases = {0: 0} if "output_operand_alias<" in module else {}
    for result, value in zip(Kernel(text).run(stored, outs, aliases), expected, strict=True):
        wide = np.float64
        rtol = tolerance(name)
        np.testing.assert_allclose(result.astype(wide), value.astype(wide), rtol, rtol * 1e-2)


@pytest.mark.parametrize("decrement", [True, False])
def test_a_wait_for_more_than_was_signalled_does_not_end(decrement):
    def body(x, out, sem):
        pl.semaphore_signal(sem, 1)
        pl.semaphore_wait(sem, 2, decrement=decrement)
        out[...] = x[...]

    call = pl.pallas_call(body, X, scratch_shapes=[pltpu.SemaphoreType.REGULAR])
    (text,) = kernel_texts(lower(call, X))
    with pytest.raises(AssertionError, match="waits for ever"):
        Kernel(text).run([np.zeros(X.shape, X.dtype)], [(X.shape, X.dtype)], {})


def _exchanged(function, axes=None, sizes=(8,), collective_id=0):
    """The text of a kernel that each device of a mesh runs."""
    types = (AxisType.Auto,) * len(sizes)
    mesh = ricci.make_mesh(sizes, ("a", "b")[: len(sizes)], axis_types=types)

    def body(x, out, sent, arrived):
        function(x, out, sent, arrived)

    anywhere = pl.BlockSpec(memory_space=pl.ANY)
    call = pl.pallas_call(
        body,
        X,
        in_specs=[anywhere],
        out_specs=anywhere,
        scratch_shapes=[pltpu.SemaphoreType.DMA] * 2,
        compiler_params=pltpu.CompilerParams(collective_id=collective_id),
    )
    names = {} if axes is None else {"axis_names": axes}
    mapped = mesh.axis_names if axes is None else tuple(axes)
    count = np.prod([mesh.shape[name] for name in mapped])
    spec = P(mapped)
    f = ricci.shard_map(call, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False, **names)
    return lower(f, ricci.ShapeDtypeStruct((8 * count, 128), np.float32))


def _to_the_right(x, out, sent, arrived):
    me = lax.axis_index("a")
    barrier = pltpu.get_barrier_semaphore()
    pl.semaphore_signal(barrier, device_id={"a": lax.rem(me + 1, 2)})
    pl.semaphore_wait(barrier)
    pltpu.async_remote_copy(x, out, sent, arrived, {"a": lax.rem(me + 1, 2)}).wait()


def test_a_copy_to_another_device_names_it_by_its_number(eight_devices):
    module = _exchanged(_to_the_right, sizes=(2, 4))
    (text,) = kernel_texts(module)
    assert "\\22has_communication\\22: true, \\22collective_id\\22: 0" in module
    operations = [line for line in text.splitlines() if "tpu." in line]
    (copy,) = [line for line in operations if "enqueue_dma" in line]
    sending, arriving = [line for line in operations if "wait_dma" in line]
    assert all("array<i32: 1, 1, 1, 1, 1, 0, 0>" in line for line in (copy, sending, arriving))
    assert "wait_target = false" in sending and "wait_target = true" in arriving
    assert sum("sem_barrier" in line for line in operations) == 1
    # The position along the first axis is the number over the size of the second one.
    numbers = re.findall(r"(%\d+) = .*tpu.device_id", text)
    sizes = dict(re.findall(r"(%\d+) = .*arith.constant.*value = (\d+) : i32", text))
    quotients = re.findall(r"arith.divui\"\((%\d+), (%\d+)\)", text)
    assert {(n in numbers, sizes[size]) for n, size in quotients} == {(True, "4"), (True, "1")}


def _without_barrier(x, out, sent, arrived):
    pltpu.async_remote_copy(x, out, sent, arrived, (lax.axis_index("a"),)).wait()


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        (_to_the_right, {"collective_id": None}, "has no collective_id"),
        (_without_barrier, {}, "does not call pltpu.get_barrier_semaphore"),
        (
            _without_barrier,
            {"sizes": (2, 4), "axes": {"a"}, "collective_id": None},
            r"along the axes \('a',\) of a mesh with the axes \('a', 'b'\)",
        ),
    ],
    ids=["no number", "no barrier", "partly manual"],
)
def test_wrong_copies_to_other_devices_are_refused(eight_devices, function, options, message):
    with pytest.raises((ValueError, NotImplementedError), match=message):
        _exchanged(function, **options)
