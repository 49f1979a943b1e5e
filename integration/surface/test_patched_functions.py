"""Libraries that replace the code of public functions see the calls by their other users."""

import contextlib
import importlib
import pickle
import pkgutil
import types

import pytest

import ricci
import ricci.numpy as jnp
from ricci import lax

A, B, C, V = jnp.ones((2, 3)), jnp.ones((3, 4)), jnp.ones((4, 2)), jnp.ones(3)
S = jnp.eye(3)
IMAGE, KERNEL = jnp.ones((1, 3, 8, 8)), jnp.ones((4, 3, 3, 3))
GROUPS, EXPERTS = jnp.array([1, 1], "int32"), jnp.ones((2, 3, 4))
HEADS = jnp.ones((1, 3, 2, 4))
SUMS = (((1,), (0,)), ((), ()))
RAGGED = lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), [0], [0])

# For each function the calls that go through it, in JAX as well.
PRODUCTS = {
    "lax.dot_general": lambda: lax.dot_general(A, B, SUMS),
    "lax.batch_matmul": lambda: lax.batch_matmul(A[None], B[None]),
    "dot": lambda: jnp.dot(A, B),
    "matmul": lambda: jnp.matmul(A, B),
    "@": lambda: A @ B,
    "x.dot": lambda: A.dot(B),
    "vdot": lambda: jnp.vdot(A, A),
    "inner": lambda: jnp.inner(A, A),
    "matvec": lambda: jnp.matvec(A, V),
    "tensordot": lambda: jnp.tensordot(A, B, 1),
    "einsum": lambda: jnp.einsum("ij,jk", A, B),
    "einsum of three": lambda: jnp.einsum("ij,jk,kl", A, B, C),
    "linalg.multi_dot": lambda: jnp.linalg.multi_dot([A, B, C]),
    "nn.dot_product_attention": lambda: ricci.nn.dot_product_attention(HEADS, HEADS, HEADS),
    "vmap": lambda: ricci.vmap(lambda x: jnp.dot(x, B))(A),
    "grad": lambda: ricci.grad(lambda x: jnp.dot(x, B).sum())(A),
    "jit": lambda: ricci.jit(lambda x: jnp.dot(x, B))(A),
}
CONVOLUTIONS = {
    "lax.conv_general_dilated": lambda: lax.conv_general_dilated(IMAGE, KERNEL, (1, 1), "SAME"),
    "lax.conv": lambda: lax.conv(IMAGE, KERNEL, (1, 1), "SAME"),
    "lax.conv_transpose": lambda: lax.conv_transpose(
        IMAGE.transpose(0, 2, 3, 1), KERNEL.transpose(2, 3, 1, 0), (1, 1), "SAME"
    ),
    "lax.conv_general_dilated_patches": lambda: lax.conv_general_dilated_patches(
        IMAGE, (3, 3), (1, 1), "SAME"
    ),
    "convolve": lambda: jnp.convolve(V, V),
    "correlate": lambda: jnp.correlate(V, V),
    "signal.convolve2d": lambda: ricci.scipy.signal.convolve2d(S, S),
    "grad": lambda: ricci.grad(lambda k: lax.conv(IMAGE, k, (1, 1), "SAME").sum())(KERNEL),
}
RAGGED_PRODUCTS = {
    "lax.ragged_dot_general": lambda: lax.ragged_dot_general(A, EXPERTS, GROUPS, RAGGED),
    "lax.ragged_dot": lambda: lax.ragged_dot(A, EXPERTS, GROUPS),
}
SUBSCRIPTS = {
    "einsum": lambda: jnp.einsum("ij,jk", A, B),
    "linalg.multi_dot": lambda: jnp.linalg.multi_dot([A, B, C]),
    "nn.dot_product_attention": lambda: ricci.nn.dot_product_attention(HEADS, HEADS, HEADS),
}
CALLS = [
    pytest.param(fun, call, id=f"{fun.__name__} by {name}")
    for fun, calls in (
        (lax.dot_general, PRODUCTS),
        (lax.conv_general_dilated, CONVOLUTIONS),
        (lax.ragged_dot_general, RAGGED_PRODUCTS),
        (jnp.einsum, SUBSCRIPTS),
    )
    for name, call in calls.items()
]
SEEN: list[str] = []
ORIGINAL: dict[str, types.FunctionType] = {}


@contextlib.contextmanager
def intercepted(fun):
    """Count the calls of a function, as qwix does: by code that finds the rest by itself."""
    code = fun.__code__
    ORIGINAL[fun.__name__] = types.FunctionType(code, fun.__globals__)
    source = (
        "def replaced(*args, **kwargs):\n"
        f"    import {__name__} as here\n"
        f"    here.SEEN.append({fun.__name__!r})\n"
        f"    return here.ORIGINAL[{fun.__name__!r}](*args, **kwargs)\n"
    )
    namespace: dict = {}
    exec(source, namespace)
    fun.__code__ = namespace["replaced"].__code__
    try:
        yield
    finally:
        fun.__code__ = code
        SEEN.clear()


@pytest.mark.parametrize(("fun", "call"), CALLS)
def test_replaced_code_sees_the_calls_by_other_functions(fun, call):
    ricci.clear_caches()  # functions that a test before this one has traced are not traced again
    with intercepted(fun):
        ricci.eval_shape(call)
        assert fun.__name__ in SEEN


@pytest.mark.parametrize("call", [lambda: jnp.dot(A, B), lambda: A @ B, lambda: jnp.matmul(A, B)])
def test_products_that_were_taken_before_are_seen(call):
    before = call()
    with intercepted(lax.dot_general):
        again = call()
        assert SEEN == ["dot_general"]
    assert (before == again).all() and (before == call()).all()


def test_einsum_does_not_cache_intercepted_calls():
    call = lambda: jnp.einsum("ij,jk,kl", A, B, C)
    with intercepted(lax.dot_general):
        call()
        assert len(SEEN) == 2
    call()
    assert not SEEN


NAMESPACES = sorted(
    module.name
    for module in pkgutil.walk_packages(ricci.__path__, "ricci.")
    if not any(part.startswith("_") for part in module.name.split("."))
)


def exported_functions(namespace):
    module = importlib.import_module(namespace)
    values = {name: getattr(module, name) for name in getattr(module, "__all__", ())}
    return {name: fun for name, fun in values.items() if isinstance(fun, types.FunctionType)}


@pytest.mark.parametrize("namespace", ["ricci", *NAMESPACES])
def test_public_functions_have_no_free_variables(namespace):
    functions = exported_functions(namespace)
    assert [name for name, fun in functions.items() if fun.__closure__ is not None] == []


ALIASES = {
    "nn": "silu swish, hard_silu hard_swish",
    "nn.initializers": "he_normal kaiming_normal, glorot_uniform xavier_uniform",
    "experimental.sparse": "jacrev jacobian",
    "interpreters.partial_eval": "dce_jaxpr_closed_call_rule dce_jaxpr_call_rule",
}


@pytest.mark.parametrize("namespace", ALIASES)
def test_aliases_are_one_function_as_in_jax(namespace):
    module = importlib.import_module(f"ricci.{namespace}")
    for pair in ALIASES[namespace].split(","):
        function, alias = (getattr(module, name) for name in pair.split())
        assert function is alias, pair


def replacement(*args, **kwargs):
    return "replaced", args, kwargs


@pytest.mark.parametrize("namespace", ["ricci", *NAMESPACES])
def test_replaced_code_of_every_public_function_is_called(namespace):
    for name, fun in exported_functions(namespace).items():
        code = fun.__code__
        fun.__code__ = replacement.__code__
        try:
            assert fun(1, key=2) == ("replaced", (1,), {"key": 2}), name
        finally:
            fun.__code__ = code


@pytest.mark.parametrize("fun", [lax.dot_general, lax.conv_general_dilated, jnp.einsum, lax.add])
def test_public_functions_are_pickled_by_their_public_name(fun):
    assert pickle.loads(pickle.dumps(fun)) is fun
    assert fun.__module__ in ("ricci.lax", "ricci.numpy")


def test_errors_of_functions_with_one_boundary_for_all_callers_show_user_frames_only():
    unknown = {"precison": None}
    for message, call in (
        ("precison.*Did you mean 'precision'", lambda: lax.dot_general(A, B, SUMS, **unknown)),
        (r"^dot_general: ", lambda: lax.dot_general(A, A, SUMS)),
    ):
        with pytest.raises(TypeError, match=message) as caught:
            call()
        assert [entry.name for entry in caught.traceback][1:] == ["<lambda>"]
