"""Wrong kernels: the class of the error, what its message names, its line, and that calls go on."""

import inspect
import traceback

import numpy as np
import pytest

import ricci_ir as ir
import ricci_kernels as pl
import ricci_xla as xla
from ricci_kernels import triton as plgpu

F32 = np.float32
X = np.arange(8, dtype=F32)
HALF = pl.BlockSpec((4,), lambda i: (i,))


def call(kernel, dtype: type = F32, interpret=True, **options):
    return pl.pallas_call(kernel, ir.ShapeDtypeStruct((8,), dtype), interpret=interpret, **options)(
        X
    )


def copy(x, out):
    out[...] = x[...]


def lower(platform, function, *operands):
    jitted = xla.jit(lambda *xs: function(*xs))
    return jitted.trace(*operands).lower(lowering_platforms=(platform,))


def too_many_specs():
    call(copy, grid=2, in_specs=[HALF, HALF], out_specs=HALF)


def too_few_specs_of_outputs():
    call(copy, grid=2, in_specs=[HALF], out_specs=[])


def a_result():
    def kernel(x, out):
        return x[...]

    call(kernel)


def a_store_of_another_shape():
    def kernel(x, out):
        out[...] = x[pl.ds(0, 3)]

    call(kernel)


def a_store_of_a_scalar():
    def kernel(x, out):
        out[pl.ds(0, 4)] = F32(1)

    call(kernel)


def a_store_of_another_dtype():
    def kernel(x, out):
        out[...] = x[...].astype(np.int32)

    call(kernel)


def too_many_indices():
    def kernel(x, out):
        out[...] = x[0, 0]

    call(kernel)


def a_sum_with_a_reference():
    def kernel(x, out):
        out[...] = x + 1

    call(kernel)


def a_product_with_a_reference():
    def kernel(x, out):
        out[...] = F32(2) * x[...] @ x

    call(kernel)


def a_negated_reference():
    def kernel(x, out):
        out[...] = -x

    call(kernel)


def a_compared_reference():
    def kernel(x, out):
        out[...] = x < 1

    call(kernel)


def a_slice_backwards():
    def kernel(x, out):
        out[...] = x[::-1]

    call(kernel)


def a_slice_of_traced_size():
    def kernel(x, out):
        size = x[0].astype(np.int32)
        out[pl.ds(0, size)] = x[pl.ds(0, size)]

    call(kernel)


def a_stride_backwards():
    def kernel(x, out):
        out[...] = x[pl.ds(0, 8, -1)]

    call(kernel)


def a_loop_backwards():
    def kernel(x, out):
        pl.loop(8, 0, step=-1)(lambda i: None)

    call(kernel)


def an_alias_of_another_dtype():
    call(copy, np.int32, input_output_aliases={0: 0})


def an_alias_of_an_operand_that_is_not_there():
    call(copy, input_output_aliases={3: 0})


def a_compiled_kernel_on_a_cpu():
    return call(copy, interpret=False)


def a_compiled_kernel_in_a_jitted_function():
    return xla.jit(lambda: call(copy, interpret=False))()


def rows_that_a_tpu_cannot_divide():
    rows = pl.BlockSpec((5, 128), lambda i: (i, 0))
    out = ir.ShapeDtypeStruct((20, 128), F32)
    kernel = pl.pallas_call(copy, out, grid=4, in_specs=[rows], out_specs=rows)
    lower("tpu", kernel, out)


def elements_that_a_gpu_cannot_divide():
    part = pl.BlockSpec((6,), lambda i: (i,))
    out = ir.ShapeDtypeStruct((24,), F32)
    kernel = pl.pallas_call(copy, out, grid=4, in_specs=[part], out_specs=part)
    lower("cuda", kernel, out)


def a_traced_grid_on_a_gpu():
    def run(n, x):
        params = plgpu.CompilerParams()
        out = ir.ShapeDtypeStruct((8,), F32)
        return pl.pallas_call(
            copy, out, grid=(n,), in_specs=[HALF], out_specs=HALF, compiler_params=params
        )(x)

    lower("cuda", run, np.int32(2), X)


# The class of the error; what the message says, separated by bars: the operand, its type, what to
# write instead; and a part of the line.
MISTAKES = {
    too_many_specs: (ValueError, "in_specs|2 specs|float32[8]|one BlockSpec", "call(copy"),
    too_few_specs_of_outputs: (ValueError, "out_specs|0 specs|float32[8]|one Block", "call(copy"),
    a_result: (ValueError, "return None|float32[8]|out[...] = result", "call(kernel"),
    a_store_of_another_shape: (
        ValueError,
        "shape (3,)|shape (8,)|float32[8]|jnp.full((8,), value)",
        "x[pl.ds(0, 3)]",
    ),
    a_store_of_a_scalar: (ValueError, "shape ()|shape (4,)|jnp.full((4,)", "F32(1)"),
    a_store_of_another_dtype: (ValueError, "int32|float32[8]|astype('float32')", "astype"),
    too_many_indices: (ValueError, "2 parts|(8,)|at most one", "x[0, 0]"),
    a_sum_with_a_reference: (AttributeError, "float32[8]|ref[...] + operand", "x + 1"),
    a_product_with_a_reference: (AttributeError, "float32[8]|operand @ ref[...]", "@ x"),
    a_negated_reference: (AttributeError, "float32[8]|-ref[...]", "= -x"),
    a_compared_reference: (AttributeError, "float32[8]|ref[...] < operand", "x < 1"),
    a_slice_backwards: (ValueError, "got -1|dimension 0|reverse the array", "x[::-1]"),
    a_slice_of_traced_size: (
        NotImplementedError,
        "dimension 0|int32[]|a static size",
        "x[pl.ds(0, size)]",
    ),
    a_stride_backwards: (ValueError, "got -1|ds(0, 8)|[::-1]", "pl.ds(0, 8, -1)"),
    a_loop_backwards: (ValueError, "got -1|upper - 1 - i", "step=-1"),
    an_alias_of_another_dtype: (
        ValueError,
        "'0:0'|float32[8]|int32[8]|leave out the alias",
        "call(copy",
    ),
    an_alias_of_an_operand_that_is_not_there: (ValueError, "'3:0'|[0, 1)", "call(copy"),
    a_compiled_kernel_on_a_cpu: (ValueError, "float32[8]|interpret=True", "interpret=False"),
    a_compiled_kernel_in_a_jitted_function: (
        ValueError,
        "kernel is copy|float32[8]|interpret=True",
        "interpret=False",
    ),
    rows_that_a_tpu_cannot_divide: (
        ValueError,
        "args[0]|(5, 128)|(20, 128)|write (8, 128)",
        'lower("tpu"',
    ),
    elements_that_a_gpu_cannot_divide: (ValueError, "powers of 2|(6,)|Take 8", 'lower("cuda"'),
    a_traced_grid_on_a_gpu: (ValueError, "the kernel copy|pass the size as an int", "lower("),
}


@pytest.mark.parametrize("wrap", [lambda f: f, xla.jit], ids=["eager", "jitted"])
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda f: f.__name__)
def test_a_mistake_is_an_error_with_operand_line_and_remedy(mistake, wrap):
    error, parts, line = MISTAKES[mistake]
    with pytest.raises(error) as raised:
        wrap(lambda: mistake())()
    message = str(raised.value)
    assert [part for part in parts.split("|") if part not in message] == []
    assert len(message.splitlines()) <= 12
    # The innermost lines of the test's own are those of the mistake. A function that jit traced has
    # returned when the kernel is compiled; then the message has the kernel's line.
    lines, start = inspect.getsourcelines(mistake)
    frames = traceback.extract_tb(raised.value.__traceback__)
    numbers = [f.lineno for f in frames if f.filename == __file__ and f.lineno is not None]
    inside = [n for n in numbers if start <= n < start + len(lines)]
    if inside:
        assert line in lines[inside[-1] - start]
    else:
        assert wrap is xla.jit
        assert f"kernel is copy at {__file__}:" in message
    assert call(copy).tolist() == X.tolist()
