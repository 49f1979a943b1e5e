"""Derivatives of kernels that are compiled for TPUs: the kernel's values, and a loop of XLA's.

The modules are lowered here; `test_tpu_kernels.py` compiles them where libtpu is installed.
"""

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="modules are lowered")

import ricci
import ricci.numpy as jnp
from ricci.experimental import pallas as pl
from ricci.experimental.pallas import tpu as pltpu

TYPE = ricci.ShapeDtypeStruct((32, 128), np.float32)


def _squares(x, out, total):
    @pl.when(pl.program_id(0) == 0)
    def _():
        total[...] = jnp.zeros_like(total)

    total[...] += x[...] ** 2
    out[...] = total[...]


def _call(interpret=False):
    rows = pl.BlockSpec((8, 128), lambda i: (i, 0))
    return pl.pallas_call(
        _squares,
        TYPE,
        grid=4,
        in_specs=[rows],
        out_specs=rows,
        scratch_shapes=[pltpu.VMEM((8, 128), np.float32)],
        interpret=interpret,
    )


def _lowered(f):
    return ricci.jit(f).trace(TYPE).lower(lowering_platforms=("tpu",)).as_text()


LOSS = lambda x: (_call()(x) ** 2).sum()
DERIVATIVES = {
    "grad": ricci.grad(LOSS),
    "value_and_grad": ricci.value_and_grad(LOSS),
    "jvp": lambda x: ricci.jvp(_call(), (x,), (x,)),
    "linearize": lambda x: ricci.linearize(_call(), x)[1](x),
    "vmap of grad": lambda x: ricci.vmap(ricci.grad(LOSS))(jnp.stack([x, x])),
    "grad of grad": ricci.grad(lambda x: ricci.grad(LOSS)(x).sum()),
    "checkpoint": ricci.grad(ricci.checkpoint(LOSS)),
}


@pytest.mark.filterwarnings("ignore:the derivative of the compiled kernel")
@pytest.mark.parametrize("name", DERIVATIVES)
def test_a_derivative_has_a_loop_and_the_values_of_the_kernel(name):
    text = _lowered(DERIVATIVES[name])
    assert "stablehlo.while" in text
    assert ("tpu_custom_call" in text) == (name not in ("linearize",))


def test_a_warning_says_that_the_derivative_is_not_a_kernel():
    message = r"the derivative of the compiled kernel _squares is a loop over its grid"
    with pytest.warns(UserWarning, match=message):
        _lowered(ricci.grad(LOSS))


def test_the_loop_is_that_of_the_interpreted_kernel():
    """The derivative by an interpreted kernel is tested by values; the jaxprs are the same."""
    x = jnp.ones((32, 128))
    loop = lambda f: str(ricci.make_jaxpr(lambda t: ricci.linearize(f, x)[1](t))(x))
    with pytest.warns(UserWarning, match="derivative"):
        compiled = loop(_call())
    assert compiled.count("scan") == loop(_call(interpret=True)).count("scan") > 0


def test_an_integer_operand_has_no_derivative_and_no_warning(recwarn):
    def kernel(x, out):
        out[...] = x[...].astype(np.float32)

    blocks = pl.BlockSpec((8, 128), lambda i: (i, 0))
    call = pl.pallas_call(kernel, TYPE, grid=4, in_specs=[blocks], out_specs=blocks)
    text = _lowered(ricci.grad(lambda x: call(x.astype(np.int32)).sum() + x.sum()))
    assert "stablehlo.while" not in text
    assert not [w for w in recwarn if "derivative" in str(w.message)]


def test_a_call_on_a_cpu_is_still_an_error():
    with pytest.raises(ValueError, match="Only interpret mode is supported on CPU"), pytest.warns():
        ricci.grad(LOSS)(np.ones((32, 128), np.float32))
