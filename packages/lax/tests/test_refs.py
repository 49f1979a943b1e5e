"""References with the reference backend and without the NumPy API."""

import re

import numpy as np
import pytest

import ricci_lax as lax
from ricci_autodiff import grad, vjp
from ricci_batching import vmap
from ricci_ir import (
    AbstractRef,
    ShapedArray,
    ShapeDtypeStruct,
    check_jaxpr,
    discharged,
    enable_x64,
    eval_jaxpr,
    live_program,
    make_jaxpr,
    use_backend,
)
from ricci_lax import refs
from ricci_lax.refs import new_ref

X = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.fixture(autouse=True)
def _reference():
    reference = pytest.importorskip("ricci_reference", reason="values need a backend")
    with use_backend(reference.reference_backend):
        yield


INDICES = [
    ...,
    (),
    0,
    -1,
    (1, 2),
    (slice(1, None), -1),
    (..., 2),
    (slice(0, 2), slice(1, 3)),
    (slice(None), slice(None, None, 2)),
    np.int32(2),
    (slice(5, None), 0),
    (slice(2, 1),),
]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_indexed_reads_agree_with_numpy(index):
    ref = new_ref(X)
    np.testing.assert_array_equal(ref[index], X[index])
    program = make_jaxpr(lambda ref: ref[index])(ref)
    check_jaxpr(program)
    found = eval_jaxpr(discharged(program).jaxpr, (), X)
    np.testing.assert_array_equal(found[0], X[index])


@pytest.mark.parametrize("index", [i for i in INDICES if "None, None, 2" not in str(i)], ids=str)
def test_indexed_writes_agree_with_numpy(index):
    expected = X.copy()
    value = np.full(X[index].shape, 50, np.float32)
    expected[index] = value
    added = expected.copy()
    added[index] += value

    def write(ref):
        refs.set(ref, index, value)
        ref.addupdate(value, index)
        return refs.swap(ref, index, value)

    program = make_jaxpr(write)(new_ref(X))
    for run in (write, lambda ref: eval_jaxpr(program, program.consts, ref)[0]):
        ref = new_ref(X)
        np.testing.assert_array_equal(run(ref), added[index])
        np.testing.assert_array_equal(ref[...], expected)


def test_a_view_of_a_view_is_a_part_of_the_reference():
    ref = new_ref(X)
    view = ref.at[1:].at[0]
    assert (view.shape, view.ndim, view.dtype) == ((4,), 1, np.float32)
    view[1] = 70.0
    view.addupdate(1.0, 2)
    np.testing.assert_array_equal(ref[1], [4, 70, 7, 7])
    np.testing.assert_array_equal(view.at[1:3][...], [70, 7])
    program = make_jaxpr(lambda ref: ref.at[1:].at[0][2:])(ref)
    assert "b:f32[2] <- a[1:][0][2:]" in str(program).replace(",:", "")


@pytest.mark.parametrize(
    ("index", "error"),
    [
        (3, ValueError),
        ((0, 0, 0), ValueError),
        ((..., ...), ValueError),
        (slice(None, None, -1), ValueError),
        ("a", TypeError),
        (1.0, TypeError),
        (True, TypeError),
        (None, TypeError),
        (np.float32([1]), TypeError),
        (np.array([True, False, True]), IndexError),
    ],
)
def test_invalid_indices_are_refused(index, error):
    index = (index,) if index is None else index
    with pytest.raises(error):
        new_ref(X)[index]


def test_written_values_have_the_type_of_the_reference():
    ref = new_ref(X)
    for value in (np.float32(1), np.ones((2, 4), np.float32), np.ones(4, np.int32)):
        with pytest.raises(ValueError, match="is written to"):
            ref[0] = value
    ref[0, 0] = 5
    ref[0] = np.arange(4.0)  # float64 stands for float32
    assert ref[0].dtype == np.float32


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("write", [refs.swap, lambda ref, i, x: ref.__setitem__(i, x)])
def test_integers_are_stored_as_those_of_the_reference(write, wide):
    """As in JAX, integers alone: sums of int32 are int64 with 64-bit types."""
    with enable_x64(wide):
        for value in (np.int32([70000]), np.uint8([7]), np.int64([70000])):
            for dtype in (np.int32, np.int16, np.uint32):
                ref = refs.new_ref(np.zeros(1, dtype))
                write(ref, ..., value)
                assert ref.dtype == dtype
                np.testing.assert_array_equal(ref[...], value.astype(dtype))
        narrow = refs.new_ref(np.zeros(1, np.int16))
        for value in (np.float32([1]), np.array([True])):
            with pytest.raises(ValueError, match="Convert it with astype"):
                write(narrow, ..., value)
        with pytest.raises(ValueError, match="Convert it with astype"):
            refs.addupdate(narrow, ..., np.int32([1]))


def test_reading_and_writing_have_effects():
    ref = new_ref(X)
    program = make_jaxpr(
        lambda ref: (ref[0], ref.addupdate(1.0, (0, 0)), refs.set(ref, 1, ref[2]))
    )(ref)
    assert [{str(e) for e in eqn.effects} for eqn in program.eqns] == [
        {"Read<Ref>"},
        {"Accumulate<Ref>"},
        {"Read<Ref>"},
        {"Write<Ref>"},
    ]
    check_jaxpr(program)
    # A part that nobody needs is still read; reading alone is not dropped either.
    assert len(live_program(program, (False,)).jaxpr.eqns) == 4


def test_the_discharged_jaxpr_is_cached():
    program = make_jaxpr(lambda ref, x: ref.__setitem__(0, x))(new_ref(X), X[0])
    assert discharged(program) is discharged(program)
    assert discharged(program).written == (0,)
    assert [e.primitive.name for e in discharged(program).jaxpr.eqns][-1] == "dynamic_update_slice"
    assert discharged(program, ()).jaxpr.outvars == []


def test_read_only_references_are_not_carried():
    def f(a, b):
        return lax.scan(
            lambda c, i: (lax.add(c, a[i]), b.addupdate(c, i)), np.float32(0), np.arange(3)
        )

    ref = new_ref(X[0])
    pure = discharged(make_jaxpr(f)(ref, new_ref(X[1])))
    assert pure.written == (1,)
    (loop,) = [e for e in pure.jaxpr.eqns if e.primitive.name == "scan"]
    assert (loop.params["num_consts"], loop.params["num_carry"]) == (1, 2)


def test_derivatives_and_batches_pass_through_references():
    def f(x):
        ref = new_ref(np.zeros(3, np.float32))
        ref[1] = lax.sin(x)
        lax.fori_loop(0, 3, lambda i, _: ref.addupdate(x, i), None)
        return lax.reduce_sum(lax.mul(ref[...], ref[...]), (0,))

    x = np.float32(0.5)
    s = np.sin(x)
    slope = 4 * x + 2 * (s + x) * (np.cos(x) + 1)
    np.testing.assert_allclose(grad(f)(x), slope, rtol=1e-6)
    np.testing.assert_allclose(vmap(grad(f))(np.full(2, x)), [slope, slope], rtol=1e-6)
    np.testing.assert_allclose(vmap(f)(np.full(2, x)), [2 * x**2 + (s + x) ** 2] * 2, rtol=1e-6)


def test_a_reference_cannot_be_returned_from_its_function():
    for transform in (vmap(new_ref), lambda x: vjp(new_ref, x)):
        with pytest.raises(ValueError, match="returned a reference"):
            transform(X[0])


def test_an_operation_without_a_rule_refuses_references():
    aval = AbstractRef(ShapedArray((3,), np.float32))
    for f in (lax.sin, lambda ref: lax.add(ref, ref), lambda ref: ref * 2):
        with pytest.raises(TypeError, match="Read it first"):
            make_jaxpr(f)(new_ref(X[0]))
        with pytest.raises(TypeError, match="Read it first"):
            make_jaxpr(f)(aval)


def test_creating_and_freeing():
    ref = refs.empty_ref(ShapeDtypeStruct((2,), np.int32))
    assert ref.dtype == np.int32 and refs.freeze(ref).tolist() == [0, 0]
    refs.free_ref(ref)
    with pytest.raises(ValueError, match="free_ref"):
        ref[0]

    def f(x):
        own = new_ref(x, kind="mine")
        y = own[...]
        refs.free_ref(own)
        return y

    program = make_jaxpr(f)(np.float32(1))
    assert "free_ref" in str(program) and program.eqns[0].outvars[0].aval.kind == "mine"
    assert eval_jaxpr(discharged(program).jaxpr, (), np.float32(2)) == [2]
    with pytest.raises(TypeError, match="new_ref takes an array"):
        new_ref([1.0])
    with pytest.raises(TypeError, match="reference already"):
        new_ref(new_ref(1.0))
    with pytest.raises(NotImplementedError, match="pin=True"):
        new_ref(1.0, pin=True)


def reshaped_and_written(x):
    ref = new_ref(x)
    ref.reshape(2, -1)[1] = lax.mul(ref.reshape(2, 6)[0], np.float32(2))
    ref.at[:2].reshape((8,)).addupdate(np.ones(8, np.float32))
    return refs.freeze(ref)


def reshaped_by_numpy(x):
    y = x.copy()
    y.reshape(2, 6)[1] = y.reshape(2, 6)[0] * 2
    y[:2] += 1
    return y


def test_reads_and_writes_of_reshaped_references():
    expected = reshaped_by_numpy(X)
    np.testing.assert_array_equal(reshaped_and_written(X), expected)
    program = make_jaxpr(reshaped_and_written)(X)
    assert "{reshape([2, 6])}[1,:] <- " in str(program)
    check_jaxpr(program)
    plain = discharged(program).jaxpr
    np.testing.assert_array_equal(eval_jaxpr(plain, plain.consts, X)[0], expected)
    stack = np.stack([X, -X])
    np.testing.assert_array_equal(
        vmap(reshaped_and_written)(stack), [reshaped_by_numpy(x) for x in stack]
    )
    gradient = grad(lambda x: lax.reduce_sum(reshaped_and_written(x), (0, 1)))(X)
    np.testing.assert_array_equal(np.reshape(gradient, (2, 6)), [[3] * 6, [0] * 6])
    assert refs.freeze(new_ref(np.zeros((0, 3), np.float32))).shape == (0, 3)
    assert new_ref(np.zeros((0, 3), np.float32)).reshape(3, 0)[...].shape == (3, 0)


@pytest.mark.parametrize("dtype", [np.int32, np.uint16, np.int8, np.uint64])
def test_reads_and_writes_of_other_dtypes(dtype):
    with enable_x64(True):
        x = np.arange(12, dtype=np.float32).reshape(4, 3)
        ref = new_ref(x)
        view = ref.bitcast(dtype)
        # Elements of a column are joined or split.
        columns = np.ascontiguousarray(x.T).view(dtype).T
        assert view.dtype == dtype and view.shape == columns.shape
        np.testing.assert_array_equal(view[...], columns)
        view[...] = columns[::-1].copy()
        expected = np.ascontiguousarray(columns[::-1].T).view(np.float32).T
        np.testing.assert_array_equal(ref[...], expected)


def column_bits(x, bits):
    """The bits of a matrix along its columns, the lowest of an element first."""
    words = np.asarray(x).view(f"u{x.dtype.itemsize}")[..., None, :]
    places = np.arange(bits, dtype=words.dtype)[:, None]
    return ((words >> places) & 1).reshape(-1, x.shape[-1])


@pytest.mark.parametrize("name", ["int2", "uint2", "int4", "uint4", "float4_e2m1fn"])
def test_elements_of_fewer_bits_than_a_byte_share_it(name):
    dtype = np.dtype(name)
    bits = int(re.findall(r"\d", name)[0])
    x = np.random.default_rng(0).integers(0, 256, (3, 4)).astype(np.uint8)
    ref = new_ref(x)
    view = ref.bitcast(dtype)
    assert view.dtype == dtype and view.shape == (3 * 8 // bits, 4)
    parts = np.asarray(view[...])
    np.testing.assert_array_equal(column_bits(parts, bits), column_bits(x, 8))
    view[...] = parts[::-1].copy()
    np.testing.assert_array_equal(
        column_bits(np.asarray(ref[...]), 8), column_bits(parts[::-1].copy(), bits)
    )
    with pytest.raises(ValueError, match=f"joins {16 // bits} rows of {name}"):
        new_ref(parts[:3]).bitcast(np.int16)


def test_views_that_do_not_fit_are_errors():
    ref = new_ref(X)
    with pytest.raises(ValueError, match=r"shape \(3, 4\) has 12 elements.*\(5, -1\)"):
        ref.reshape(5, -1)
    with pytest.raises(ValueError, match=r"joins 2 rows of float32, but has 3"):
        ref.bitcast(np.complex64)
    with pytest.raises(ValueError, match="needs two dimensions"):
        ref.at[0].bitcast(np.int16)
