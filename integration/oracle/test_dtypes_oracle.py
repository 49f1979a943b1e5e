"""Dtypes as in JAX: promotion, families, limits, names, and the dtypes of other objects.

A run asks with the default options; with RICCI_ORACLE_CASES=all, as `nox -s oracle-full` sets it,
with others as well.
"""

import os

import pytest

pytest.importorskip("ricci_xla", reason="values need the compiler")

from ricci_testing import Oracle, Request, evaluate_with, ricci_namespace, shared_oracle

needs_oracle = pytest.mark.skipif(
    not Oracle.available(), reason="oracle environment missing: run nox -s oracle"
)

# Evaluated on either side: a line for each question and its answer.
PRELUDE = """
import warnings
warnings.simplefilter("ignore")
names = (
    "bool_ int2 int4 int8 int16 int32 int64 uint2 uint4 uint8 uint16 uint32 uint64 float4_e2m1fn "
    "float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 "
    "float8_e5m2fnuz float8_e8m0fnu bfloat16 float16 float32 float64 complex64 complex128"
).split()
types = {name: getattr(jnp, name) for name in names}
types |= {"float0": jax.dtypes.float0, "key": jax.random.key(0).dtype}
lines = []

def ask(question, answer):
    try:
        text = str(answer())
    except Exception as error:
        text = type(error).__name__
    lines.append(f"{question}: {text}".replace(chr(10), " | "))
"""
END = "\nchr(10).join(lines)"

PAIRS = """
for n, t in types.items():
    for m, u in types.items():
        ask(f"promote_types {n} {m}", lambda: jnp.promote_types(t, u))
        ask(f"issubdtype {n} {m}", lambda: jnp.issubdtype(t, u))
        if m != "key":
            ask(f"isdtype {n} {m}", lambda: jnp.isdtype(t, u))
        if "key" not in (n, m):
            ask(f"dtypes.result_type {n} {m}",
                lambda: jax.dtypes.result_type(t, u, return_weak_type_flag=True))
        ask(f"can_cast {n} {m}",
            lambda: [jnp.can_cast(t, u, c) for c in "no equiv safe same_kind unsafe".split()])
"""
SCALARS = """
for n, t in types.items():
    for s in (1, 1.5, 1j, True, np.float64(1), np.int8(1), int, float, complex, bool, None,
              "float32", np.zeros(2)):
        ask(f"result_type {n} {s!r}", lambda: jnp.result_type(t, s))
        ask(f"promote_types {n} {s!r}", lambda: jnp.promote_types(t, s))
for x in (1, 1.0, 1j, True, np.float64(1), np.zeros(2, np.int8), jnp.ones(2), "a", None, [1]):
    ask(f"scalar_type_of {x!r}", lambda: jax.dtypes.scalar_type_of(x))
    ask(f"finfo {x!r}", lambda: jnp.finfo(x).dtype)
    ask(f"iinfo {x!r}", lambda: jnp.iinfo(x).dtype)
"""
ALONE = """
families = [getattr(jnp, name) for name in
            "generic number integer signedinteger unsignedinteger inexact floating "
            "complexfloating flexible character".split()]
families += [jax.dtypes.extended, jax.dtypes.prng_key, float, int, bool, complex, "float32"]
kinds = ["bool", "signed integer", "unsigned integer", "integral", "real floating",
         "complex floating", "numeric", ("bool", "integral"), "nosuch"]
floats = ("bits eps epsneg machep negep iexp minexp maxexp nexp nmant precision resolution max min "
          "tiny smallest_normal smallest_subnormal dtype").split()
for n, t in types.items():
    for i, family in enumerate(families):
        ask(f"issubdtype {n} family {i}", lambda: jnp.issubdtype(t, family))
        ask(f"issubdtype family {i} {n}", lambda: jax.dtypes.issubdtype(family, t))
    for kind in kinds:
        ask(f"isdtype {n} {kind}", lambda: jnp.isdtype(t, kind))
    for name in floats:
        ask(f"finfo {n} {name}", lambda: repr(getattr(jnp.finfo(t), name)))
    for name in "bits max min dtype kind".split():
        ask(f"iinfo {n} {name}", lambda: repr(getattr(jnp.iinfo(t), name)))
    for function in (str, repr):
        ask(f"finfo {n} {function}", lambda: function(jnp.finfo(t)))
        ask(f"iinfo {n} {function}", lambda: function(jnp.iinfo(t)))
    ask(f"canonicalize_dtype {n}", lambda: jax.dtypes.canonicalize_dtype(t))
    ask(f"canonicalize_dtype {n}, allowed", lambda: jax.dtypes.canonicalize_dtype(t, True))
    ask(f"itemsize_bits {n}", lambda: jax.dtypes.itemsize_bits(t))
    ask(f"scalar_type_of {n}", lambda: jax.dtypes.scalar_type_of(t))
    ask(f"name {n}", lambda: t.__name__)
    ask(f"dtype {n}", lambda: (np.dtype(t), jnp.dtype(t)))
    ask(f"equality {n}", lambda: (t == np.dtype(t), np.dtype(t) == t, t == np.dtype(t).type,
                                  t == "float32", hash(t) == hash(np.dtype(t)), t != t))
    ask(f"call {n}", lambda: (repr(t(1)), repr(t([0, 1]))))
    if n != "float0":
        ask(f"filled {n}", lambda: (repr(jnp.zeros(2, t)), repr(jnp.ones((), t))))
"""
MODES = {"standard": {}}
if os.environ.get("RICCI_ORACLE_CASES") == "all":
    MODES["x64"] = {"jax_enable_x64": True}
    MODES["strict"] = {"jax_numpy_dtype_promotion": "strict"}


@needs_oracle
@pytest.mark.parametrize("questions", [PAIRS, SCALARS, ALONE], ids=["pairs", "scalars", "alone"])
@pytest.mark.parametrize("mode", MODES)
def test_answers_are_jaxs(questions, mode):
    source = PRELUDE + questions + END
    theirs = shared_oracle().run_many([Request(source, {}, MODES[mode])], timeout=300.0)[0]
    ours = evaluate_with(ricci_namespace(), source, {}, config=MODES[mode])
    assert ours.error is None, ours.error
    pairs = zip(ours.value.splitlines(), theirs.value.splitlines(), strict=True)
    wrong = [f"{our}, not {their.rpartition(': ')[2]}" for our, their in pairs if our != their]
    assert not wrong, f"{len(wrong)} differ\n" + "\n".join(wrong[:20])
