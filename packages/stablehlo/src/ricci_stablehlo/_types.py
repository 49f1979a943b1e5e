"""The StableHLO text of types, constants and attributes."""

from collections.abc import Sequence

import numpy as np

import ricci_ir as ir

__all__ = ["dense", "element_type", "int_array", "int_list", "is_splat", "scalar_literal", "string"]
__all__ += ["tensor_type"]

_special_names = {
    "bool": "i1",
    "float16": "f16",
    "float32": "f32",
    "float64": "f64",
    "bfloat16": "bf16",
    "complex64": "complex<f32>",
    "complex128": "complex<f64>",
    "float4_e2m1fn": "f4E2M1FN",
    "float8_e3m4": "f8E3M4",
    "float8_e4m3": "f8E4M3",
    "float8_e4m3b11fnuz": "f8E4M3B11FNUZ",
    "float8_e4m3fn": "f8E4M3FN",
    "float8_e4m3fnuz": "f8E4M3FNUZ",
    "float8_e5m2": "f8E5M2",
    "float8_e5m2fnuz": "f8E5M2FNUZ",
    "float8_e8m0fnu": "f8E8M0FNU",
}
# Elements narrower than a byte. NumPy stores one per byte, and MLIR's parser expects them packed,
# so they are not written as raw bytes.
_packed = frozenset({"i2", "i4", "ui2", "ui4", "f4E2M1FN"})
_PART = 4096  # elements that ``is_splat`` compares at once
_element_types: dict[np.dtype, str] = {}  # as many as there are dtypes
_tensor_types: ir.Cache[ir.AbstractValue, str] = ir.Cache("written types", 4096)


def element_type(dtype: np.dtype) -> str:
    """Return the element type of a dtype, such as ``ui8`` for ``uint8``."""
    text = _element_types.get(dtype)
    if text is None:
        text = _element_types[dtype] = _new_element_type(dtype)
    return text


def _new_element_type(dtype: np.dtype) -> str:
    # ``float0`` has no bits; its arrays are written as arrays of false.
    if dtype == ir.float0:
        return "i1"
    name = dtype.name
    if name in _special_names:
        return _special_names[name]
    if name.startswith("uint"):
        return f"ui{name[4:]}"
    if name.startswith("int"):
        return f"i{name[3:]}"
    raise TypeError(f"dtype {name} has no StableHLO element type")


def tensor_type(aval: ir.AbstractValue) -> str:
    """Return the type of a value, such as ``tensor<2x3xf32>``; ``?`` is a symbolic size."""
    text = _tensor_types.entries.get(aval)
    if text is None:
        if isinstance(aval, ir.AbstractToken):
            text = "!stablehlo.token"
        elif isinstance(aval, ir.ShapedArray):
            extended = isinstance(aval.dtype, ir.ExtendedDType)
            array: ir.ShapedArray = aval.dtype.physical_aval(aval) if extended else aval
            # An extended dtype is written as the array of words that represents it.
            sizes = "".join("?x" if ir.is_symbolic_dim(n) else f"{n}x" for n in array.shape)
            text = f"tensor<{sizes}{element_type(array.dtype)}>"
        else:
            raise TypeError(f"values of type {aval} have no StableHLO type")
        _tensor_types.add(aval, text)
    return text


def scalar_literal(value: np.generic) -> str:
    """Return the text of an element inside ``dense<...>``."""
    dtype = value.dtype
    if dtype.kind == "b":
        return "true" if value else "false"
    if dtype.kind in "iu" or dtype.name.startswith(("int", "uint")):
        return str(int(value))  # pyright: ignore[reportArgumentType]
    if dtype.kind == "c":
        return f"({scalar_literal(value.real)}, {scalar_literal(value.imag)})"
    number = float(value)  # pyright: ignore[reportArgumentType]
    # MLIR has no literals of these; it takes the bits, the highest first.
    if number != number or number in (float("inf"), float("-inf")):
        return f"0x{value.tobytes()[::-1].hex().upper()}"
    # Python's shortest form reads back as the same number, but may lack the point that MLIR
    # requires.
    text = repr(number)
    mantissa, e, exponent = text.partition("e")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}{e}{exponent}"


def dense(value: np.ndarray) -> str:
    """Return the attribute ``dense<...>`` of an array's elements, without its type."""
    if value.dtype == ir.float0:
        return "dense<false>"
    if value.size == 0:
        return "dense<>"
    if not value.shape:
        return f"dense<{scalar_literal(value[()])}>"  # pyright: ignore[reportArgumentType]
    if is_splat(value):
        return f"dense<{scalar_literal(value.flat[0])}>"
    if value.size <= 16 or value.dtype.kind == "b" or element_type(value.dtype) in _packed:
        return f"dense<{_nested(value)}>"
    return f'dense<"0x{np.ascontiguousarray(value).tobytes().hex().upper()}">'


def is_splat(value: np.ndarray) -> bool:
    """Whether an array is not empty and all its elements are equal, bit for bit.

    It reads the array in chunks: it makes no copy, and stops at the first chunk that differs.

    Example:
      >>> import numpy as np
      >>> from ricci_stablehlo import is_splat
      >>> is_splat(np.ones((2, 3))), is_splat(np.array([0.0, -0.0]))
      (True, False)
    """
    if value.size == 0:
        return False
    # Broadcast from one element, so that there is nothing to compare.
    if not any(value.strides):
        return True
    # Compared in parts, so that an array of many elements takes no copy of its size, and most
    # arrays are told apart by their first part. Bytes rather than values, for NaN differs from
    # itself.
    flat = value.reshape(-1) if value.flags.c_contiguous else value.flat
    part = flat[:_PART].tobytes()
    same = part[: value.itemsize] * _PART
    starts = range(_PART, value.size, _PART)
    return part == same[: len(part)] and all(
        same.startswith(flat[i : i + _PART].tobytes()) for i in starts
    )


def _nested(value: np.ndarray) -> str:
    if value.ndim == 0:
        return scalar_literal(value[()])  # pyright: ignore[reportArgumentType]
    return f"[{', '.join(_nested(part) for part in value)}]"


def int_array(values: Sequence[int]) -> str:
    """Return the attribute ``array<i64: ...>``."""
    return f"array<i64: {', '.join(map(str, values))}>" if len(values) else "array<i64>"


def int_list(values: Sequence[int]) -> str:
    """Return a bracketed list, ``[0, 1]``."""
    return f"[{', '.join(map(str, values))}]"


def string(text: str | bytes) -> str:
    """Return a string attribute, quoted and escaped."""
    if isinstance(text, bytes):
        text = "".join([_plain_or_escaped[byte] for byte in text])
    elif not (text.isascii() and text.isprintable()) or '"' in text or "\\" in text:
        text = "".join([_plain_or_escaped[byte] for byte in text.encode()])
    return f'"{text}"'


# MLIR escapes a byte by a backslash and two hexadecimal digits.
_plain_or_escaped = [
    chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:02X}" for byte in range(256)
]
