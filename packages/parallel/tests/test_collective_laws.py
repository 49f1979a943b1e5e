"""The laws, on every collective: under ``vmap`` those of all primitives, and on devices one more.

The laws of all primitives need no compiler: named axes are those of ``vmap``, on the reference
backend. On devices a collective and its derivatives are what they are for a batch.
"""

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest

import ricci_parallel  # noqa: F401  (defines the primitives)
from ricci_autodiff import jvp, vjp
from ricci_batching import axis_name_rules, vmap
from ricci_ir import enable_x64, get_aval, make_jaxpr, primitives, use_backend
from ricci_lax import expand_dims, squeeze
from ricci_parallel import all_gather, pcast, psum, psum_scatter, shard_map
from ricci_reference import reference_backend
from ricci_testing import LAWS, check_laws, examples, without_examples
from ricci_xla import Mesh, devices, jit
from ricci_xla import PartitionSpec as P

primitives.load_all()
# Tests of other packages may have given rules to primitives of their own.
DEFINED = [p for p in axis_name_rules if primitives.get(p.name) is p]
COLLECTIVES = {p.name: p for p in DEFINED if p.name in examples()}


def test_every_collective_has_examples_or_a_reason_against():
    assert {p.name for p in DEFINED} >= {"psum", "all_gather", "axis_index"}
    assert all(p.name in COLLECTIVES or p.name in without_examples for p in DEFINED)


@pytest.mark.sampled(24)
@pytest.mark.parametrize("name", COLLECTIVES)
@pytest.mark.parametrize("law", LAWS)
def test_law(law, name):
    with use_backend(reference_backend):
        check_laws(COLLECTIVES[name], laws=[law])


def over_devices(primitive, example, check_vma):
    """An example's primitive on a mesh, as a function of its operands with leading dimensions."""
    sizes = tuple(example.axes)
    count = int(np.prod([size for _, size in sizes]))
    # The devices are not in the order of their ids.
    grid = np.array(devices()[:count])[::-1].reshape([size for _, size in sizes])
    spec = P(*(name for name, _ in sizes))
    leading = tuple(range(len(sizes)))

    def on_one(*shards):
        result = primitive.bind(*(squeeze(x, leading) for x in shards), **example.params)
        return expand_dims(result, leading)

    mesh = Mesh(grid, tuple(name for name, _ in sizes))
    return shard_map(on_one, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=check_vma)


def directions(arrays, seed):
    generator = np.random.default_rng(seed)
    return [generator.normal(size=x.shape).astype(x.dtype) for x in arrays]


def derivatives(fun, example):
    """The results; where they are smooth, the tangents and the cotangents of the operands."""
    places = example.differentiable()
    if not example.smooth or not places:
        return [fun(*example.args)], [], []

    def of_places(*xs):
        args = list(example.args)
        for i, x in zip(places, xs, strict=True):
            args[i] = x
        return fun(*args)

    primals = [example.args[i] for i in places]
    value, tangent = jvp(of_places, primals, directions(primals, 1))
    (ct,) = directions([get_aval(value)], 2)
    return [value], [tangent], list(vjp(of_places, *primals)[1](ct))


# Casts and the collectives between them are there for types only, which a batch does not have. Each
# is one step of a program on shards that is linear: a function of the rows, one for each device of
# a mesh whose devices are not in the order of their ids.

ROWS = np.arange(8.0).reshape(4, 2) ** 2 - 3
SAME = lambda rows: rows
TILED = lambda rows: np.tile(rows, (4, 1))
TOTAL = lambda rows: rows.sum(0, keepdims=True)
STEPS = {
    "pvary": (P(), P("i"), lambda a: pcast(a, "i", to="varying"), TILED),
    "psum_invariant": (P("i"), P(), lambda a: psum(a, "i"), TOTAL),
    "all_gather_invariant": (
        P("i"),
        P(),
        lambda a: all_gather(a, "i", tiled=True, to="invarying"),
        SAME,
    ),
    "preduced": (
        P(),
        P("i"),
        lambda a: pcast(pcast(a, "i", to="reduced"), "i", to="varying"),
        TILED,
    ),
    "reduced_vary_cast_p": (
        P("i"),
        P("i"),
        lambda a: pcast(all_gather(a, "i", tiled=True, to="reduced"), "i", to="varying"),
        TILED,
    ),
    "unreduced_psum": (P("i"), P(), lambda a: psum(pcast(a, "i", to="unreduced"), "i"), TOTAL),
    "vary_unreduced_cast_p": (
        P(None, "i"),
        P("i"),
        lambda a: psum_scatter(pcast(a, "i", to="unreduced"), "i", tiled=True),
        lambda rows: sum(np.split(rows, 4, axis=1)),
    ),
}
# Further exemptions from the laws, with reasons.
NO_LAW = {
    "axis_index": "it has no operand",
    "psend": "a process sends to another, and there is but one",
    "precv": "a process receives from another, and there is but one",
}


def test_every_collective_without_examples_is_a_step_or_has_a_reason():
    assert {p.name for p in DEFINED} - COLLECTIVES.keys() == {*STEPS, *NO_LAW} - COLLECTIVES.keys()


@pytest.mark.sampled(9)
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("name", STEPS)
def test_steps_are_linear_and_transposed(name, wide):
    in_specs, out_specs, body, expected = STEPS[name]
    mesh = Mesh(np.array(devices()[:4])[[2, 0, 3, 1]], ("i",))
    with enable_x64(wide):
        dtype = np.float64 if wide else np.float32
        x = np.tile(ROWS, (1, 4)).astype(dtype) if in_specs == P(None, "i") else ROWS.astype(dtype)
        fun = shard_map(body, mesh=mesh, in_specs=in_specs, out_specs=out_specs)
        y = fun(x)
        assert y.dtype == dtype
        np.testing.assert_allclose(y, expected(x))
        assert f" {name}" in str(make_jaxpr(fun)(x))
        (t,), (ct,) = directions([x], 1), directions([y], 2)
        for wrap in (lambda f: f, jit):
            value, tangent = wrap(lambda x, t: jvp(fun, (x,), (t,)))(x, t)
            np.testing.assert_allclose(value, y)
            np.testing.assert_allclose(tangent, expected(t), rtol=1e-5)
            (back,) = wrap(lambda x, ct: vjp(fun, x)[1](ct))(x, ct)
            assert back.dtype == dtype
            np.testing.assert_allclose(np.vdot(back, t), np.vdot(ct, tangent), rtol=1e-4)
        examples_of = np.stack([x, 2 * x, -x])
        np.testing.assert_allclose(vmap(fun)(examples_of), [expected(x) for x in examples_of])


@pytest.mark.sampled(4)
@pytest.mark.parametrize("check_vma", [False, True])
@pytest.mark.parametrize("name", COLLECTIVES)
def test_results_on_devices_equal_those_of_a_batch(name, check_vma):
    compare_with_batch(name, check_vma)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", COLLECTIVES)
def test_collectives_agree_with_64_bit_types(name):
    with enable_x64(True):
        compare_with_batch(name, True, wide=True)


def widened(example):
    """An example with operands of 64 bits."""
    wide = {"f": np.float64, "i": np.int64}
    args = [x.astype(wide.get(x.dtype.kind, x.dtype)) for x in map(np.asarray, example.args)]
    return replace(example, args=tuple(args))


def compare_with_batch(name, check_vma, wide=False):
    """Compare a collective and its derivatives on devices with those of a batch.

    Of wide values, the first example of each mesh is taken.
    """
    if check_vma and name in ("all_gather_reduced", "unreduced_reduce_scatter"):
        pytest.skip("the types of operand or result say that a sum is to come")
    primitive = COLLECTIVES[name]
    # Its transpose takes a cotangent that all devices share, which types make sure of.
    values_only = name == "all_gather_invariant" and not check_vma
    by_mesh = defaultdict(list)
    for example in examples()[name]:
        by_mesh[example.axes].append(replace(example, smooth=False) if values_only else example)
    for found in by_mesh.values():
        if wide:
            found = [widened(found[0])]
        run = lambda: [derivatives(over_devices(primitive, e, check_vma), e) for e in found]  # noqa: B023
        for example, ours in zip(found, jit(run)(), strict=True):
            with use_backend(reference_backend):
                theirs = derivatives(lambda *xs: example.bind(primitive, *xs)[0], example)  # noqa: B023
            assert [*map(len, ours)] == [*map(len, theirs)]
            for x, y in zip(sum(ours, []), sum(theirs, []), strict=True):
                assert get_aval(x).dtype == get_aval(y).dtype
                x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
                np.testing.assert_allclose(x, y, 2e-2, 1e-5, err_msg=str(example))
