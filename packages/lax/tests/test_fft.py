"""Fourier transforms: their types, programs, transposes, batches, text and refusals."""

import numpy as np
import pytest

from ricci_autodiff import jvp, vjp
from ricci_batching import vmap
from ricci_ir import ShapeDtypeStruct, check_jaxpr, enable_x64, make_jaxpr
from ricci_lax import FftType, fft, fft_p
from ricci_stablehlo import lower_jaxpr


def of(*shape, dtype="complex64"):
    return ShapeDtypeStruct(shape, np.dtype(dtype))


def operand(kind, shape, lengths):
    """The operand of a transform, behind batch dimensions of ``shape``."""
    last = lengths[-1] // 2 + 1 if kind == "irfft" else lengths[-1]
    dtype = "float32" if kind == "rfft" else "complex64"
    return of(*shape, *lengths[:-1], last, dtype=dtype)


KINDS = ["fft", "ifft", "rfft", "irfft"]
LENGTHS = [(8,), (7,), (1,), (4, 6), (2, 3, 5)]


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize(
    ("kind", "halved", "dtype"),
    [
        ("fft", False, "complex64"),
        ("ifft", False, "complex64"),
        ("rfft", True, "complex64"),
        ("irfft", False, "float32"),
    ],
)
def test_result_types(kind, halved, dtype, lengths):
    (out,) = make_jaxpr(lambda x: fft(x, kind, lengths))(operand(kind, (3,), lengths)).out_avals
    last = lengths[-1] // 2 + 1 if halved else lengths[-1]
    assert (out.shape, out.dtype) == ((3, *lengths[:-1], last), np.dtype(dtype))


@pytest.mark.parametrize(
    ("dtype", "kind", "expected"),
    [
        ("int32", "fft", "complex64"),
        ("bool", "rfft", "complex64"),
        ("float16", "irfft", "float32"),
        ("bfloat16", "ifft", "complex64"),
        ("float64", "fft", "complex128"),
        ("int64", "rfft", "complex128"),
        ("uint64", "irfft", "float64"),
        ("complex128", "irfft", "float64"),
        ("float64", "rfft", "complex128"),
    ],
)
def test_fft_converts_operands_to_a_supported_dtype(dtype, kind, expected):
    with enable_x64(True):
        (out,) = make_jaxpr(lambda x: fft(x, kind, (4,)))(
            of(3 if kind == "irfft" else 4, dtype=dtype)
        ).out_avals
    assert out.dtype == np.dtype(expected)


@pytest.mark.parametrize("kind", [*FftType, "FFT", "ifft", "RFFT", "irfft"])
def test_kinds_by_name_and_member(kind):
    member = kind if isinstance(kind, FftType) else FftType[kind.upper()]
    x = operand(member.name.lower(), (), (4,))
    jaxpr = make_jaxpr(lambda x: fft(x, kind, [4]))(x)
    (call,) = jaxpr.eqns
    (eqn,) = call.params["jaxpr"].eqns
    assert (call.params["name"], eqn.params["fft_type"]) == ("fft", member)


def test_without_lengths_nothing_is_transformed():
    (call,) = make_jaxpr(lambda x: fft(x, "fft", ()))(of(3)).eqns
    assert not call.params["jaxpr"].eqns


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_check(kind, lengths):
    x = operand(kind, (2,), lengths)
    function = lambda x: fft(x, kind, lengths)

    def pulled(x):
        result, pull = vjp(function, x)
        return pull(result)[0]

    for program in (pulled, lambda x: jvp(pulled, (x,), (x,))[1]):
        jaxpr = make_jaxpr(program)(x)
        check_jaxpr(jaxpr)
        assert jaxpr.out_avals[0].shape == x.shape


@pytest.mark.parametrize("dim", [0, 1, 2, 3, -1])
@pytest.mark.parametrize("kind", KINDS)
def test_batches_move_to_the_front(kind, dim):
    x = operand(kind, (2,), (4, 6))
    place = dim % 4
    shape = (*x.shape[:place], 5, *x.shape[place:])
    function = lambda x: fft(x, kind, (4, 6))
    jaxpr = make_jaxpr(vmap(function, dim))(ShapeDtypeStruct(shape, x.dtype))
    check_jaxpr(jaxpr)
    assert jaxpr.out_avals[0].shape == (5, *make_jaxpr(function)(x).out_avals[0].shape)


PULLED_BACK = """\
{ lambda ; a:f32[3,4]. let
    b:c64[3,3] = jit[
      name=fft
      jaxpr={ lambda ; a:f32[3,4]. let
          b:c64[3,3] = fft[fft_lengths=(4,) fft_type=2] a
        in (b,) }
    ] a
    c:f32[3,4] = jit[
      name=fft
      jaxpr={ lambda ; b:c64[3,3]. let
          c:f32[3,4] = jit[
            name=_rfft_transpose
            jaxpr={ lambda ; b:c64[3,3]. let
                d:c64[3] = broadcast_in_dim (2+0j):c64[]
                e:c64[1] = broadcast_in_dim (1+0j):c64[]
                f:c64[3] = dynamic_update_slice d e 0:i32[]
                g:c64[1] = broadcast_in_dim (1+0j):c64[]
                h:c64[3] = dynamic_update_slice f g 2:i32[]
                i:c64[1,3] = broadcast_in_dim[broadcast_dimensions=(1,)] h
                j:c64[3,3] = conj[input_dtype=complex64] b
                k:c64[3,3] = div j i
                l:f32[3,4] = jit[
                  name=fft
                  jaxpr={ lambda ; k:c64[3,3]. let
                      l:f32[3,4] = fft[fft_lengths=(4,) fft_type=3] k
                    in (l,) }
                ] k
                c:f32[3,4] = mul 4.0:f32[] l
              in (c,) }
          ] b
        in (c,) }
    ] b
  in (c,) }"""


def test_a_pulled_back_program_prints_as_in_jax():
    def pulled(x):
        result, pull = vjp(lambda x: fft(x, "rfft", (4,)), x)
        return pull(result)[0]

    assert str(make_jaxpr(pulled)(of(3, 4, dtype="float32"))) == PULLED_BACK


@pytest.mark.parametrize("platform", ["cpu", "cuda", "tpu"])
@pytest.mark.parametrize("kind", KINDS)
def test_text(kind, platform):
    jaxpr = make_jaxpr(lambda x: fft(x, kind, (4, 6)))(operand(kind, (2,), (4, 6)))
    text = lower_jaxpr(jaxpr, "f", platform=platform)
    assert f"stablehlo.fft %arg0, type = {kind.upper()}, length = [4, 6] : (" in text


COMPLEX, REAL = of(3, 8), of(3, 8, dtype="float32")


@pytest.mark.parametrize(
    ("error", "message", "x", "kind", "lengths"),
    [
        (ValueError, "'foo' is not a kind of transform", COMPLEX, "foo", (8,)),
        (ValueError, "'rFft' is not a kind", REAL, "rFft", (8,)),
        (TypeError, "fft_type=1 is neither", COMPLEX, 1, (8,)),
        (TypeError, "fft_type=None is neither", COMPLEX, None, (8,)),
        (
            ValueError,
            r"takes an operand whose last dimensions have shape \(7,\)",
            COMPLEX,
            "fft",
            (7,),
        ),
        (
            ValueError,
            r"takes an operand whose last dimensions have shape \(7,\)",
            REAL,
            "rfft",
            (7,),
        ),
        (
            ValueError,
            r"takes an operand whose last dimensions have shape \(9,\)",
            COMPLEX,
            "irfft",
            (16,),
        ),
        (ValueError, r"last dimensions have shape \(4, 8\)", COMPLEX, "irfft", (4, 14)),
        (ValueError, "RFFT transforms real numbers", COMPLEX, "rfft", (8,)),
        (ValueError, "RFFT transforms float32 or float64", of(8, dtype="float16"), "rfft", (8,)),
        (ValueError, "names 3 dimensions, but the operand is", COMPLEX, "fft", (2, 3, 8)),
        (ValueError, "over one to 3", of(1, 1, 1, 1), "fft", (1, 1, 1, 1)),
        (ValueError, "RFFT of length 0", of(3, 0, dtype="float32"), "rfft", (0,)),
        (ValueError, "negative length", COMPLEX, "irfft", (-8,)),
        (TypeError, "not iterable", COMPLEX, "fft", 8),
    ],
)
def test_errors_name_the_rule_that_is_broken(error, message, x, kind, lengths):
    with pytest.raises(error, match=message):
        make_jaxpr(lambda x: fft(x, kind, lengths))(x)


@pytest.mark.parametrize(
    ("x", "kind", "message"),
    [
        (REAL, FftType.FFT, "FFT transforms complex64 or complex128"),
        (COMPLEX, FftType.RFFT, "RFFT transforms float32 or float64"),
    ],
)
def test_the_primitive_converts_nothing(x, kind, message):
    with pytest.raises(ValueError, match=message):
        make_jaxpr(lambda x: fft_p.bind(x, fft_type=kind, fft_lengths=(8,)))(x)
