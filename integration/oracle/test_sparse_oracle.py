"""Sparse arrays do what JAX's do: values, dtypes, layouts, indices, and classes of errors.

Each line of `data/sparse_calls.txt` is evaluated by both sides, with 64-bit types off and on. A run
takes a sample; with RICCI_ORACLE_CASES=all, as `nox -s oracle-full` sets it, it takes all.
"""

import os
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

pytest.importorskip("ricci_xla", reason="values need the compiler")
from patterns import matches

from ricci_testing import (
    Oracle,
    Request,
    Result,
    compare,
    evaluate_with,
    ricci_namespace,
    shared_oracle,
)

EVERYTHING = os.environ.get("RICCI_ORACLE_CASES") == "all"
LINES = (Path(__file__).parents[1] / "data" / "sparse_calls.txt").read_text().splitlines()[1:]
RTOL = {"float32": 1e-4, "float64": 1e-9, "float16": 1e-2}


class Expected(NamedTuple):
    """Both results as text, in which `*` is any text, and why they differ."""

    ours: str
    theirs: str
    reason: str

    def covers(self, ours, theirs):
        return matches(ours, self.ours) and matches(theirs, self.theirs)


# Lines on which the two sides differ.
RULE = "JAX has no rule for this"
FAILS = "a defect of JAX: it fails while it compiles, or computes the wrong type"
NOT_IMPLEMENTED = "raised NotImplementedError"
M_ENTRIES = "[[0 1] [0 3] [2 0] [2 2]]"
PRODUCT = Expected("[[3. 0. 7.] [3. 0. 7.]]", NOT_IMPLEMENTED, RULE)
SWAPPED = (
    "BCOO 2 2 4 0 1 4 int32 float* [[ 4. 0. 0. 7.] [16. 0. 0. 19.] [ 0. 1. 0. 0.] [ 0. 13. 0. 0.]] "
    "[[0 0] [1 0] [0 1] [1 1]]"
)
TRANSPOSED = "4 3 4 [[0. 0. 3.] [1. 0. 0.] [0. 0. 4.] [2. 0. 0.]]"
# fmt: off
EXPECTED = {
    "sparse.BCOO.fromdense(D!=0)": Expected(
        "bool", "int*", "the elements of an array of booleans are booleans here"),
    "sparse.todense(np.ones(2))": Expected(
        "array float*[2]", "numpy float*[2]", "JAX returns a NumPy array unchanged"),
    "rs(BD,new_sizes=(2,3,2,2))": Expected(
        "BCOO 2 3 2 2 1 2 3 int32 float* [[[ 0. 1.] [ 0. 0.]] [[ 4. 0.] [ 0. 7.]] [[ 0. 0.] "
        "[10. 0.]]] [[[ 0. 13.] [ 0. 0.]] [[16. 0.] [ 0. 19.]] [[ 0. 0.] [22. 0.]]] [[0] [1] [2]] "
        "[[0] [1] [2]]", "raised ValueError", "JAX cannot reshape a dense dimension"),
    "bi(M,shape=(2,4),broadcast_dimensions=(0,1))": Expected(
        "raised ValueError", NOT_IMPLEMENTED, "shapes that do not fit are a ValueError here"),
    "sparse.bcoo_multiply_dense(M,2.)": Expected(
        "[2. 4. 6. 8.]", "raised AttributeError", "JAX takes no Python scalar"),
    "jnp.asarray(M)": Expected(
        "raised TypeError", "raised ValueError", "a TypeError, as of other objects"),
    "K.transpose((1,0))": Expected(f"CSC {TRANSPOSED}", "raised AssertionError", RULE),
    "CC.transpose((1,0))": Expected(f"CSR {TRANSPOSED}", "raised AssertionError", RULE),
    "C.transpose((1,0))": Expected(f"COO {TRANSPOSED}", NOT_IMPLEMENTED, RULE),
    **{f"jax.vmap(lambda v:{m}@v)(jnp.ones((2,4)))": PRODUCT for m in ("C", "K", "CC")},
    # with indices of two dtypes
    "sp(lambda a,b:a+b)(M,U)": Expected(
        "BCOO 3 4 0 0 9 int64 float64 [1. 2. 3. 4. 1. 2. 3. 5.] [[0 1] [0 3] [2 0] [2 2] [2 1] "
        "[0 3] [2 1] [0 0]]", "raised TypeError", RULE),
    "sp(lambda a,b:a-b)(M,U)": Expected(
        "BCOO 3 4 0 0 9 int64 float64 [ 1. 2. 3. 4. -1. -2. -3. -5.] [[0 1] [0 3] [2 0] [2 2] "
        "[2 1] [0 3] [2 1] [0 0]]", "raised TypeError", RULE),
    "cc([U,M],dimension=1)": Expected(
        "BCOO 3 8 0 0 9 int64 float64 [1. 2. 3. 5. 1. 2. 3. 4.] [[2 1] [0 3] [2 1] [0 0] [0 5] "
        "[0 7] [2 4] [2 6]]", "raised TypeError", RULE),
    "sp(jnp.floor)(M)": Expected(
        f"BCOO 3 4 0 0 4 int32 float* [1. 2. 3. 4.] {M_ENTRIES}", NOT_IMPLEMENTED, RULE),
    "sp(jnp.ceil)(M)": Expected(
        f"BCOO 3 4 0 0 4 int32 float* [1. 2. 3. 4.] {M_ENTRIES}", NOT_IMPLEMENTED, RULE),
    "sp(jax.checkpoint(lambda a:a*2))(M)": Expected(
        f"BCOO 3 4 0 0 4 int32 float* [2. 4. 6. 8.] {M_ENTRIES}", NOT_IMPLEMENTED, RULE),
    "sp(lambda a:lax.scan(lambda c,x:(c+a@x,None),jnp.zeros(3),jnp.ones((2,4)))[0])(M)": Expected(
        "[ 6. 0. 14.]", NOT_IMPLEMENTED, RULE),
    "jax.vmap(lambda b:linalg.spsolve(R2.data,R2.indices,R2.indptr,b))(jnp.stack([d,d]))": Expected(
        "[[ 1.0416* 1.3333* -0.0833*] [ 1.0416* 1.3333* -0.0833*]]", NOT_IMPLEMENTED, RULE),
    "sp(lambda m:m[:,jnp.array([1,0])])(BD)": Expected(SWAPPED, "raised ValueError", FAILS),
    "DD[:,jnp.array([1,0])]": Expected(SWAPPED, "raised ValueError", FAILS),
    "BD[jnp.array([1,0])]": Expected(
        "BCOO 2 3 4 1 1 3 int32 float* [[ 0. 13. 0. 0.] [16. 0. 0. 19.] [ 0. 0. 22. 0.]] "
        "[[ 0. 1. 0. 0.] [ 4. 0. 0. 7.] [ 0. 0. 10. 0.]] [[0] [1] [2]] [[0] [1] [2]]",
        "raised ValueError", FAILS),
    "jax.grad(lambda v:(Uc@v).real.sum())(jnp.arange(4.))": Expected(
        "array float*[4]", "array complex*[4]", FAILS),
    "sparse.sparsify(lambda a:jnp.sin(a)+a,use_tracer=True)(M)": Expected(
        "python int[] np.int64(4)", "python int[] np.int64(8)",
        "both operands are known to have the same indices here, as without use_tracer"),
}
# fmt: on
# Operands, and the compared parts of a result. Padding may have any index outside of the array and
# any value, and stand anywhere; explicit zeros count.
PRELUDE = """
import copy, importlib, pickle
import scipy.sparse as scs
sparse = importlib.import_module(jax.__name__ + ".experimental.sparse")
linalg = importlib.import_module(jax.__name__ + ".experimental.sparse.linalg")
D = jnp.array([[0, 1.0, 0, 2], [0, 0, 0, 0], [3, 0, 4, 0]])
T3 = jnp.where(jnp.arange(24).reshape(2, 3, 4) % 3 == 1, jnp.arange(24.0).reshape(2, 3, 4), 0)
M = sparse.BCOO.fromdense(D)
U = sparse.BCOO(
    (jnp.array([1.0, 2, 3, 4, 5]), jnp.array([[2, 1], [0, 3], [2, 1], [5, 9], [0, 0]])),
    shape=(3, 4),
)
Uo = sparse.BCOO((jnp.array([1.0, 2]), jnp.array([[0, 9], [1, 1]])), shape=(3, 4))
B, BD = sparse.BCOO.fromdense(T3, n_batch=1), sparse.BCOO.fromdense(T3, n_batch=1, n_dense=1)
S, DD = sparse.BCOO.fromdense(T3), sparse.BCOO.fromdense(T3, n_dense=1)
F = sparse.BCOO.fromdense(jnp.arange(1, 13.0).reshape(3, 4))
one = sparse.BCOO.fromdense(jnp.array([[0, 1.0, 2]]))
R, RB = sparse.BCSR.fromdense(D), sparse.BCSR.fromdense(T3, n_batch=1)
RD = sparse.BCSR.fromdense(T3, n_dense=1)
C, K, CC = sparse.COO.fromdense(D), sparse.CSR.fromdense(D), sparse.CSC.fromdense(D)
R2 = sparse.BCSR.fromdense(jnp.array([[2.0, 0, 1], [0, 3, 0], [0, 1, 4]]))
Uc = sparse.BCOO.fromdense(D * (1 + 2j))
A, X = jnp.diag(jnp.arange(1.0, 31)), jax.random.normal(jax.random.key(0), (30, 3))
d, key = jnp.array([2.0, 4, 1]), jax.random.key(0)
sp, dg, gd = sparse.sparsify, sparse.bcoo_dot_general, lax.GatherDimensionNumbers
ul, ds, sl = sparse.bcoo_update_layout, sparse.bcoo_dynamic_slice, sparse.bcoo_slice
rs, cc, bi = sparse.bcoo_reshape, sparse.bcoo_concatenate, sparse.bcoo_broadcast_in_dim
f = lambda m, v: (m @ v).sum()

def seen(x):
    if getattr(x, "dtype", None) == object:
        return "objects"
    if isinstance(x, sparse.BCOO):
        data, at = np.asarray(x.data), np.asarray(x.indices)
        whole = lambda p: np.broadcast_to(p, x.shape[: x.n_batch] + p.shape[x.n_batch :])
        data, at = (whole(p).reshape(-1, *p.shape[x.n_batch :]) for p in (data, at))
        sizes = np.array(x.shape[x.n_batch : x.n_batch + x.n_sparse], int)
        kept = [((a >= 0) & (a < sizes)).all(-1) for a in at]
        return ("BCOO", x.shape, x.n_batch, x.n_dense, x.nse, str(x.indices.dtype), str(x.dtype),
                [d[k] for d, k in zip(data, kept)], [a[k] for a, k in zip(at, kept)])
    if isinstance(x, sparse.BCSR):
        return ("BCSR", seen(x.to_bcoo()), x.indptr)
    if isinstance(x, sparse.JAXSparse):
        return (type(x).__name__, x.shape, x.nse, x.todense())
    if isinstance(x, (list, tuple)):
        return [seen(y) for y in x]
    if isinstance(x, dict):
        return {k: seen(y) for k, y in x.items()}
    return x if hasattr(x, "dtype") or type(x) in (bool, int, float, str) else type(x).__name__

def attempt(call):
    try:
        return seen(call())
    except Exception as error:
        return "raised " + " ".join(cls.__name__ for cls in type(error).__mro__)

"""


def by_line(result, count):
    """The leaves of each line's result."""
    assert result.error is None, result.error
    found = [[] for _ in range(count)]
    for leaf in result.leaves:
        number, rest = re.fullmatch(r"\[(\d+)\](.*)", leaf.path).groups()
        found[int(number)].append(replace(leaf, path=rest))
    return found


def shown(leaves):
    """All leaves of a result in one line."""
    return " ".join(" ".join(str(leaf.value).split()) for leaf in leaves)


def differences(lines, wide):
    """The lines on which the two sides disagree, each with both results as text."""
    calls = "".join(f"    attempt(lambda: {line}),\n" for line in lines)
    text, config = f"{PRELUDE}[\n{calls}]", {"jax_enable_x64": wide}
    (theirs,) = shared_oracle().run_many([Request(text, {}, config)], timeout=1800.0)
    ours = evaluate_with(ricci_namespace(), text, {}, config=config)
    count = len(lines)
    for line, our, their in zip(lines, by_line(ours, count), by_line(theirs, count), strict=True):
        first = str(their[0].value) if their else ""
        if first.startswith("raised "):
            raised = str(our[0].value).split() if our else []
            # Where JAX fails an assertion, an error here names the cause.
            same = first.split()[1] in (*raised, "AssertionError")
            if raised[:1] != ["raised"]:
                yield line, shown(our), first_class(first)
            elif not same:
                yield line, first_class(shown(our)), first_class(first)
            continue
        try:
            compare(Result(tuple(our), None), Result(tuple(their), None), rtol=RTOL)
        except AssertionError as error:
            _, _, sides = str(error).rpartition("\nours:   ")
            yield line, *sides.split("\ntheirs: ")


def first_class(raised):
    """The class of an error, of the names of its classes."""
    return " ".join(raised.split()[:2])


@pytest.mark.skipif(not Oracle.available(), reason="oracle environment missing: run nox -s oracle")
@pytest.mark.sampled(1)  # most of the time goes into the operands of each width
@pytest.mark.parametrize("wide", [False, True], ids=["32", "64"])
def test_sparse_calls_agree_with_jax(wide):
    lines = LINES if EVERYTHING else random.Random(f"{wide}").sample(LINES, 8)
    wrong = [
        f"{line}\nours:   {ours}\ntheirs: {theirs}"
        for line, ours, theirs in differences(lines, wide)
        if line not in EXPECTED or not EXPECTED[line].covers(ours, theirs)
    ]
    assert not wrong, "\n\n".join(wrong)
