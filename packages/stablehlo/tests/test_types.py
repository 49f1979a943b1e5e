"""StableHLO's spelling of types, constants and strings."""

import ml_dtypes
import numpy as np
import pytest

import ricci_ir as ir
import ricci_stablehlo as sh

SPELLINGS = {
    "bool": "i1",
    "int8": "i8",
    "uint32": "ui32",
    "int4": "i4",
    "uint2": "ui2",
    "float16": "f16",
    "bfloat16": "bf16",
    "float64": "f64",
    "complex64": "complex<f32>",
    "complex128": "complex<f64>",
    "float8_e4m3fn": "f8E4M3FN",
    "float8_e5m2": "f8E5M2",
    "float8_e8m0fnu": "f8E8M0FNU",
    "float4_e2m1fn": "f4E2M1FN",
}


def dtype(name):
    return np.dtype(getattr(ml_dtypes, name, name))


@pytest.mark.parametrize(("name", "spelling"), SPELLINGS.items())
def test_tensor_type(name, spelling):
    assert sh.element_type(dtype(name)) == spelling
    assert sh.tensor_type(ir.ShapedArray((2, 3), dtype(name))) == f"tensor<2x3x{spelling}>"
    assert sh.tensor_type(ir.ShapedArray((), dtype(name), True)) == f"tensor<{spelling}>"


def test_types_that_are_not_numeric():
    assert sh.tensor_type(ir.abstract_token) == "!stablehlo.token"
    assert sh.tensor_type(ir.ShapedArray((2,), ir.float0)) == "tensor<2xi1>"
    with pytest.raises(TypeError, match="dtype datetime64"):
        sh.element_type(np.dtype("datetime64[s]"))
    with pytest.raises(TypeError, match="have no StableHLO type"):
        sh.tensor_type(object())


SCALARS = [
    (np.float32(0.1), "0.10000000149011612"),
    (np.float32(1e20), "1.0000000200408773e+20"),
    (np.float32(1e-7), "1.0000000116860974e-07"),
    (np.float32(-0.0), "-0.0"),
    (np.float64(0.1), "0.1"),
    (np.float32(np.inf), "0x7F800000"),
    (np.float32(-np.inf), "0xFF800000"),
    (np.float32(np.nan), "0x7FC00000"),
    (np.float64(np.inf), "0x7FF0000000000000"),
    (ml_dtypes.bfloat16(np.inf), "0x7F80"),
    (np.float16(np.inf), "0x7C00"),
    (np.int8(-3), "-3"),
    (np.uint64(2**64 - 1), "18446744073709551615"),
    (ml_dtypes.int4(-8), "-8"),
    (ml_dtypes.uint4(15), "15"),
    (np.bool_(True), "true"),
    (np.complex64(1 - 2j), "(1.0, -2.0)"),
    (np.complex64(complex(np.inf, 0)), "(0x7F800000, 0.0)"),
]


@pytest.mark.parametrize(("value", "text"), SCALARS, ids=lambda x: repr(x)[:24])
def test_scalar_literal(value, text):
    assert sh.scalar_literal(value) == text


ARRAYS = [
    (np.full((2, 3), 1.5, np.float32), "dense<1.5>"),
    (np.zeros((0, 3), np.float32), "dense<>"),
    (np.arange(4, dtype=np.int32).reshape(2, 2), "dense<[[0, 1], [2, 3]]>"),
    (np.array([0.0, -0.0], np.float32), "dense<[0.0, -0.0]>"),
    (np.arange(17, dtype=np.int8), f'dense<"0x{bytes(range(17)).hex().upper()}">'),
    (np.arange(17) % 2 == 0, f"dense<[{', '.join(['true, false'] * 8)}, true]>"),
    (np.zeros(20, ml_dtypes.int4), "dense<0>"),
    (np.zeros(3, ir.float0), "dense<false>"),
]


@pytest.mark.parametrize(("array", "text"), ARRAYS, ids=lambda x: repr(x)[:24])
def test_dense(array, text):
    assert sh.dense(array) == text


@pytest.mark.parametrize("size", [1, 2, 4095, 4096, 4097, 8192, 8200])
@pytest.mark.parametrize("dtype", ["bool", "int8", "float32", "complex128"])
def test_is_splat_of_equal_elements(size, dtype):
    array = np.ones(size, dtype)
    assert sh.is_splat(array) and sh.is_splat(np.stack([array] * 2).T)
    for i in {0, size // 2, size - 1} if size > 1 else ():
        other = array.copy()
        other[i] = 0
        assert not sh.is_splat(other) and not sh.is_splat(np.stack([other] * 2).T)


def test_is_splat_compares_bits():
    assert sh.is_splat(np.full(9, np.nan)) and not sh.is_splat(np.array([0.0, -0.0]))
    assert sh.is_splat(np.float32(1)[...]) and not sh.is_splat(np.zeros((0, 2)))


@pytest.mark.parametrize(
    ("text", "escaped"),
    [("plain x[0]", '"plain x[0]"'), ('a"b\\c', '"a\\22b\\5Cc"'), ("é\n", '"\\C3\\A9\\0A"')],
)
def test_string_escapes(text, escaped):
    assert sh.string(text) == escaped


@pytest.mark.parametrize(
    ("values", "array", "bracketed"),
    [((), "array<i64>", "[]"), ((1, 2), "array<i64: 1, 2>", "[1, 2]")],
)
def test_int_array_and_int_list(values, array, bracketed):
    assert (sh.int_array(values), sh.int_list(values)) == (array, bracketed)


VALUES = [
    np.array([np.inf, -np.inf, np.nan, 0.1, -0.0, 1e-45, 3.4e38], np.float32),
    np.array([np.inf, 0.1, 5e-324], np.float64),
    np.array([np.inf, 0.1, 6e-8], np.float16),
    np.array([np.inf, np.nan, 0.1], ml_dtypes.bfloat16),
    np.array([1.5, np.nan, -448], ml_dtypes.float8_e4m3fn),
    np.array([1 - 2j, complex(np.nan, np.inf)], np.complex64),
    np.array([-8, 7, 0], ml_dtypes.int4),
    np.array([15, 0], ml_dtypes.uint4),
    np.array([True, False]),
    np.array([2**64 - 1, 0], np.uint64),
    np.array([-(2**63), 1], np.int64),
    np.linspace(0, 1, 100, dtype=np.float32).reshape(4, 25),
    np.linspace(0, 1, 100).astype(ml_dtypes.bfloat16),
    np.arange(40) % 3 == 0,
    (np.arange(40) % 16 - 8).astype(ml_dtypes.int4),
    np.linspace(0, 1, 40).astype(np.complex64) * 1j,
    np.zeros((3, 0), np.float32),
    np.float32(2.5).reshape(()),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda x: f"{x.dtype}{list(x.shape)}")
def test_compiled_constants_have_the_written_values(run, value):
    value = np.asarray(value)
    kind = sh.tensor_type(ir.ShapedArray(value.shape, value.dtype))
    text = (
        f"module @m {{\n  func.func public @main() -> {kind} {{\n"
        f"    %0 = stablehlo.constant {sh.dense(value)} : {kind}\n"
        f"    return %0 : {kind}\n  }}\n}}\n"
    )
    (result,) = run(text)
    assert result.dtype == value.dtype
    assert result.tobytes() == value.tobytes()
