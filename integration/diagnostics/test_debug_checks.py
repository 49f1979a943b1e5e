"""Looking for NaN in results, and for tracers that outlive their functions."""

import numpy as np
import pytest

import ricci.numpy as jnp
from ricci import (
    checking_leaks,
    checkpoint,
    config,
    debug_infs,
    debug_nans,
    enable_checks,
    errors,
    grad,
    hessian,
    jit,
    lax,
    linearize,
    make_jaxpr,
    nn,
    pmap,
    vmap,
)

INVALID = {
    "eager": (lambda: jnp.log(-1.0), "log"),
    "eager division": (lambda: jnp.zeros(()) / 0, "div"),
    "jit": (lambda: jit(lambda x: jnp.log(x) + 1)(-1.0), "log"),
    "jit of jit": (lambda: jit(lambda x: jit(jnp.log)(x) + 1)(-1.0), "log"),
    "one of several results": (lambda: jit(lambda x: {"a": x, "b": jnp.log(x)})(-1.0), "log"),
    "loop": (lambda: jit(lambda x: lax.fori_loop(0, 3, lambda i, c: jnp.log(c), x))(-1.0), "log"),
    "vmap": (lambda: vmap(jnp.log)(-jnp.ones(3)), "log"),
    "derivative": (lambda: grad(lambda x: jnp.sqrt(x) * 0)(0.0), "mul"),
    "donated": (lambda: jit(lambda x: jnp.log(x), donate_argnums=0)(-jnp.ones(3)), "log"),
    "compiled": (lambda: jit(jnp.log).lower(1.0).compile()(-1.0), "log"),
    "low precision": (lambda: jit(jnp.log)(jnp.bfloat16(-1)), "log"),
    "complex": (lambda: jit(lambda x: x / 0)(0j), "div"),
    "several devices": (lambda: pmap(jnp.log)(-jnp.ones((1, 3))), "log"),
}


@pytest.mark.parametrize("case", INVALID)
def test_nan_is_found(case):
    fun, operation = INVALID[case]
    with debug_nans(True), pytest.raises(FloatingPointError, match=rf"\(nan\).* {operation}\b"):
        fun()
    fun()  # allowed again, and the process goes on


def test_the_users_line_is_named():
    f = jit(lambda x: jnp.log(x) + 1)
    with debug_nans(True), pytest.raises(FloatingPointError, match=r"test_debug_checks\.py:\d+"):
        f(-1.0)


VALID = {
    "numbers": lambda: jit(lambda x: x + 1)(1.0),
    "integers": lambda: jit(lambda x: x + 1)(1),
    "inside only": lambda: jit(lambda x: jnp.where(x < 0, 0.0, jnp.log(x)))(-1.0),
    "infinity": lambda: jnp.log(0.0),
}


@pytest.mark.parametrize("case", VALID)
def test_debug_nans_accepts_finite_programs(case):
    with debug_nans(True):
        VALID[case]()


def test_a_nan_that_no_operation_makes():
    with debug_nans(True), pytest.raises(FloatingPointError, match="argument x has it already"):
        jit(lambda x: x)(np.float32(np.nan))


def test_infinities_are_found():
    with debug_infs(True), pytest.raises(FloatingPointError, match=r"\(inf\).* exp\b"):
        jit(lambda x: jnp.exp(x) + 1)(1000.0)


def test_a_function_compiled_before_is_checked():
    f = jit(jnp.log)
    f(-1.0)
    f(-1.0)
    config.update("jax_debug_nans", True)
    try:
        with pytest.raises(FloatingPointError):
            f(-1.0)
    finally:
        config.update("jax_debug_nans", False)
    assert np.isnan(f(-1.0))


kept = []


def keep(x):
    kept.append(x)
    return x * 2


LEAKS = {
    "jit": lambda: jit(keep)(1.0),
    "make_jaxpr": lambda: make_jaxpr(keep)(1.0),
    "grad": lambda: grad(keep)(1.0),
    "vmap": lambda: vmap(keep)(jnp.ones(3)),
    "scan": lambda: lax.scan(lambda c, x: (keep(c), x), 0.0, jnp.ones(3)),
}


@pytest.mark.parametrize("case", LEAKS)
def test_leaks_are_found(case):
    with (
        checking_leaks(),
        pytest.raises(errors.UnexpectedTracerError, match=rf"Leaked[^$]*{__name__}\.kept"),
    ):
        LEAKS[case]()
    kept.clear()


def smooth(x):
    return jnp.cos(jnp.sin(x)) * 2


CLEAN = {
    "jit": lambda: jit(smooth)(1.0),
    "grad of jit": lambda: jit(grad(jit(smooth)))(1.0),
    "vmap of grad": lambda: vmap(grad(smooth))(jnp.ones(3)),
    "hessian": lambda: hessian(smooth)(1.0),
    "linearize": lambda: linearize(smooth, 1.0)[1](1.0),
    "scan": lambda: grad(lambda x: lax.scan(lambda c, y: (smooth(c), y), x, jnp.ones(3))[0])(1.0),
    "while": lambda: lax.while_loop(lambda x: x < 3, lambda x: x + 1, 1.0),
    "cond": lambda: grad(lambda x: lax.cond(x > 0, smooth, jnp.sin, x))(1.0),
    "custom_jvp": lambda: grad(nn.relu)(1.0),
    "checkpoint": lambda: grad(checkpoint(smooth))(1.0),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("case", CLEAN)
def test_no_leaks_are_found(case):
    with checking_leaks():
        CLEAN[case]()


@pytest.mark.parametrize("case", CLEAN)
def test_programs_that_are_traced_are_well_formed(case):
    with enable_checks(True):
        CLEAN[case]()


def test_leaks_are_not_looked_for_by_default():
    jit(keep)(1.0)
    kept.clear()
