"""Arrays and traced arrays do what JAX's do: methods, operators with anything, printing.

A run takes a sample; with RICCI_ORACLE_CASES=all, as `nox -s oracle-full` sets it, it takes all.
"""

import ast
import os
import random
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="values need the compiler")

from ricci_testing import Oracle, Request, compare, evaluate_with, ricci_namespace, shared_oracle

pytestmark = pytest.mark.skipif(
    not Oracle.available(), reason="oracle environment missing: run nox -s oracle"
)

EVERYTHING = os.environ.get("RICCI_ORACLE_CASES") == "all"
LINES = (Path(__file__).parents[1] / "data" / "array_uses.txt").read_text().splitlines()[1:]
X = np.array([[1.0, -2.5, 4.0], [0.5, 3.0, -1.0]], np.float32)


def eager(line: str) -> str:
    """The statements of a line, ended by an expression."""
    text = "\n".join(part.strip() for part in line.split(";"))
    return text if isinstance(ast.parse(text).body[-1], ast.Expr) else f"{text}\n0"


def traced(line: str) -> str:
    """The same as a function that is compiled; text in its result is not an array."""
    *before, last = eager(line).splitlines()
    body = "\n    ".join([*before, f"result = {last}"])
    known = "str(result) if isinstance(result, np.generic | np.dtype) else result"
    return f"def fun(x):\n    {body}\n    return {known}\njax.jit(fun)(x)"


@pytest.mark.parametrize("form", [eager, traced], ids=["array", "tracer"])
def test_uses_of_an_array(form):
    lines = LINES if EVERYTHING else random.Random(form.__name__).sample(LINES, 30)
    requests = [Request(form(line), {"x": X}) for line in lines]
    wrong = []
    theirs = shared_oracle().run_many(requests, timeout=300.0)
    for line, request, their in zip(lines, requests, theirs, strict=True):
        our = evaluate_with(ricci_namespace(), request.source, request.inputs)
        try:
            compare(our, their)
        except AssertionError as error:
            wrong.append(f"{line}\n{error}")
    assert not wrong, "\n\n".join(wrong)


OPERATORS = """
import operator, warnings
import ml_dtypes
warnings.simplefilter("ignore")
class Float(float): pass
class Int(int): pass
class Duck:
    def __jax_array__(self):
        return jnp.ones(3)
class Stranger:
    def __radd__(self, other):
        return np.ones(3)
others = {
    "f64": np.ones(3), "i64": np.arange(3), "bool": np.ones(3, bool), "u8": np.ones(3, "u1"),
    "bf16": np.ones(3, ml_dtypes.bfloat16), "column": np.ones((2, 1), "f"), "bad": np.ones(2, "f"),
    "rank 0": np.array(2.5), "int of rank 0": np.array(2), "np.float64": np.float64(2.5),
    "np.int8": np.int8(2), "np.bool": np.bool_(True), "np.complex": np.complex64(1j),
    "True": True, "2": 2, "-1": -1, "2.5": 2.5, "1j": 1j, "300": 300, "Float": Float(2.0),
    "Int": Int(2), "list": [1, 2, 3], "tuple": (1,), "None": None, "str": "a", "bytes": b"a",
    "object": object(), "objects": np.array([1, None, 2]), "Duck": Duck(), "Stranger": Stranger(),
}
names = "add sub mul truediv floordiv mod pow matmul and_ lshift eq lt".split()
operators = {name: getattr(operator, name) for name in names} | {"divmod": divmod}

def outcome(call, x):
    try:
        found = jax.eval_shape(call, x)
    except Exception as error:
        return type(error).__name__
    found = found if isinstance(found, tuple) else (found,)
    return [f"{y.dtype}{list(y.shape)}{'~' if y.weak_type else ''}" for y in found]

lines = []
for dtype in ("float32 int32 bool bfloat16 uint8" if everything else "int32").split():
    x = jax.ShapeDtypeStruct((3,), dtype)
    for name, function in [*operators.items()][:: 1 if everything else 3]:
        for other, y in others.items():
            if other == "Stranger" and name != "add":
                continue
            lines.append(f"{dtype} {name} {other}: {outcome(lambda x: function(x, y), x)}")
            lines.append(f"{other} {name} {dtype}: {outcome(lambda x: function(y, x), x)}")
"""
# A comparison with a weak complex number gives a weak mask in JAX.
DIFFERENT = ("bool lt 1j", "int32 lt 1j", "uint8 lt 1j", "1j lt bool", "1j lt int32", "1j lt uint8")

PRINTED = """
import ml_dtypes, pickle, warnings
warnings.simplefilter("ignore")
lines = []

def ask(question, answer):
    try:
        text = str(answer())
    except Exception as error:
        text = type(error).__name__
    lines.append(f"{question}: {text}".replace(chr(10), " | "))

names = (
    "bool int8 int16 int32 uint2 uint4 uint8 uint16 uint32 float4_e2m1fn float8_e3m4 float8_e4m3 "
    "float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu "
    "bfloat16 float16 float32 complex64 int2 int4"
).split()
base = np.array([[1, 0, 1], [0, 1, 1]])
shapes = {"matrix": base, "vector": base[0], "scalar": base[0, 0], "empty": base[:0]}
single = dict(bool=bool, int=int, float=float, complex=complex, item=lambda x: x.item())
for name in names if everything else names[::4]:
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    for label, value in shapes.items():
        x = jnp.asarray(value.astype(dtype))
        for f in (repr, str, format, np.asarray, lambda x: x.tolist(), lambda x: x.tobytes()):
            ask(f"{name} {label}", lambda: repr(f(x)))
        ask(f"pickled {name} {label}", lambda: repr(pickle.loads(pickle.dumps(x))))
        ask(f"sizes {name} {label}",
            lambda: (x.nbytes, x.itemsize, x.size, x.ndim, x.on_device_size_in_bytes()))
        for form in (".2f", "5d", "e", ">8", "x", "s", "b"):
            ask(f"{form} {name} {label}", lambda: format(x, form))
        for kind, f in single.items():
            ask(f"{kind} {name} {label}", lambda: f(x))
values = {
    "special": np.array([np.nan, np.inf, -np.inf, -0.0, 1e-30, 1e30, 3.14159265], "f"),
    "many": np.arange(3000.0, dtype="f"), "rows": np.arange(2000).reshape(2, 1000),
    "wide": np.arange(40, dtype="f") * 1.2345, "deep": np.arange(16).reshape(2, 2, 2, 2),
    "complex": np.array([1 + 2j, np.nan * 1j], "F"), "mixed": np.array([[1.5, 1000.25], [1e-5, 3]]),
    "mask": np.ones((12, 12), bool), "narrow": np.arange(20).astype(ml_dtypes.bfloat16) / 3,
}
for label, value in values.items():
    x = jnp.asarray(value)
    for width, precision in ((75, 8), (20, 4)):
        with np.printoptions(linewidth=width, precision=precision):
            ask(f"{label} {width}", lambda: (repr(x), str(x), f"{x}"))
for value in (1, 1.5, 1j, True, [1, 2], 2**31 - 1, -(2**31)):
    x = jnp.asarray(value)
    ask(f"of {value}", lambda: (repr(x), x.weak_type, repr(jnp.full((2,), value))))
"""
# Functions whose results of NumPy's arrays are NumPy's, so that a program can read their values
# while it is traced.
OF_NUMPY = """
lines = []
wide, scalar = np.arange(6.0).reshape(1, 3, 2), np.float32(3)
mask = wide > 2
functions = {
    "reshape": lambda x: jnp.reshape(x, (-1,)), "columns": lambda x: jnp.reshape(x, -1, order="F"),
    "copy in reshape": lambda x: jnp.reshape(x, (-1, 1), copy=True),
    "no copy in reshape": lambda x: jnp.reshape(x, (-1, 1), copy=False),
    "any order": lambda x: jnp.reshape(x, (-1,), "A"), "no shape": lambda x: jnp.reshape(x, None),
    "wrong size": lambda x: jnp.reshape(x, (5, 5)),
    "lax.reshape": lambda x: lax.reshape(x, (x.size,)),
    "reshape method": lambda x: jnp.asarray(x).reshape(-1), "ravel": jnp.ravel,
    "squeeze": jnp.squeeze, "transpose": jnp.transpose,
    "expand_dims": lambda x: jnp.expand_dims(x, 0),
    "broadcast_to": lambda x: jnp.broadcast_to(x, (2, *x.shape)), "atleast_3d": jnp.atleast_3d,
    "flip": jnp.flip, "roll": lambda x: jnp.roll(x, 1), "stack": lambda x: jnp.stack([x]),
    "where": lambda x: jnp.where(True, x, x), "asarray": jnp.asarray, "copy": jnp.copy,
    "sum": jnp.sum, "real": jnp.real, "conj": jnp.conj, "astype": lambda x: jnp.astype(x, "int32"),
    "tensorsolve": lambda x: jnp.linalg.tensorsolve(np.eye(6).reshape(6, 1, 3, 2), np.arange(6.0)),
}
for label, x in {"wide": wide, "mask": mask, "scalar": scalar}.items():
    for name, f in functions.items():
        for way in (lambda f: f(), lambda f: jax.jit(lambda: (found.append(f()), 0)[1])()):
            found = []
            try:
                made = way(lambda: f(x))
                made = found[0] if found else made
                kind = "array" if isinstance(made, jax.Array) else type(made).__name__
                text = f"{kind} {made.dtype} {made.shape}"
            except Exception as error:
                text = type(error).__name__
            lines.append(f"{name} of {label}: {text}")
"""
END = "\nchr(10).join(lines)"


@pytest.mark.parametrize(
    "questions", [OPERATORS, PRINTED, OF_NUMPY], ids=["operators", "printed", "of numpy"]
)
def test_answers_are_jaxs(questions):
    request = Request(questions + END, {"everything": EVERYTHING})
    theirs = shared_oracle().run_many([request], timeout=300.0)[0]
    ours = evaluate_with(ricci_namespace(), request.source, request.inputs)
    assert ours.error is None, ours.error
    pairs = zip(ours.value.splitlines(), theirs.value.splitlines(), strict=True)
    wrong = [
        f"{our}, not {their.partition(': ')[2]}"
        for our, their in pairs
        if our != their and not our.startswith(DIFFERENT)
    ]
    assert not wrong, f"{len(wrong)} differ\n" + "\n".join(wrong[:20])
