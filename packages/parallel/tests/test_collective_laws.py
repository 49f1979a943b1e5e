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
from ricci_batching import axis_name_rules
from ricci_ir import get_aval, primitives, unsupported, use_backend
from ricci_lax import expand_dims, squeeze
from ricci_lax.authoring import example_rules
from ricci_parallel import shard_map
from ricci_reference import reference_backend
from ricci_testing import LAWS, check_laws, examples
from ricci_xla import Mesh, PartitionSpec, devices, jit

# Tests of other packages may have given rules to primitives of their own.
DEFINED = [p for p in axis_name_rules if primitives.get(p.name) is p]
COLLECTIVES = {
    p.name: p
    for p in DEFINED
    if p.name in examples() and not isinstance(example_rules[p], unsupported)
}


def test_every_collective_has_examples_or_says_why_not():
    assert {p.name for p in DEFINED} >= {"psum", "all_gather", "axis_index"}
    assert all(p in example_rules for p in DEFINED)


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
    spec = PartitionSpec(*(name for name, _ in sizes))
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


@pytest.mark.parametrize("check_vma", [False, True])
@pytest.mark.parametrize("name", COLLECTIVES)
def test_devices_compute_what_a_batch_does(name, check_vma):
    if check_vma and name in ("all_gather_reduced", "unreduced_reduce_scatter"):
        pytest.skip("the types of operand or result say that a sum is to come")
    primitive = COLLECTIVES[name]
    # Its transpose takes a cotangent that all devices share, which types make sure of.
    values_only = name == "all_gather_invariant" and not check_vma
    by_mesh = defaultdict(list)
    for example in examples()[name]:
        by_mesh[example.axes].append(replace(example, smooth=False) if values_only else example)
    for found in by_mesh.values():
        run = lambda: [derivatives(over_devices(primitive, e, check_vma), e) for e in found]  # noqa: B023
        for example, ours in zip(found, jit(run)(), strict=True):
            with use_backend(reference_backend):
                theirs = derivatives(lambda *xs: example.bind(primitive, *xs)[0], example)  # noqa: B023
            assert [*map(len, ours)] == [*map(len, theirs)]
            for x, y in zip(sum(ours, []), sum(theirs, []), strict=True):
                x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
                np.testing.assert_allclose(x, y, 2e-2, 1e-5, err_msg=str(example))
