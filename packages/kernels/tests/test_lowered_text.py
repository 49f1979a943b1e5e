"""The text of functions that call kernels, lowered for devices that are not there."""

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="constants of programs are arrays of the runtime")

import ricci_ir as ir
import ricci_kernels as pl
from ricci_kernels import triton as plgpu

X = ir.ShapeDtypeStruct((16, 128), np.float32)


def double(x, out):
    out[...] = x[...] * 2


@pytest.mark.parametrize(
    ("platforms", "target"), [(None, "tpu_custom_call"), (["cuda"], "__gpu$xla.gpu.triton")]
)
def test_kernels_are_custom_calls_of_a_platform(platforms, target):
    text = pl.lower_as_mlir(pl.pallas_call(double, X), X, platforms=platforms)
    assert f'call_target_name = "{target}"' in text
    assert "test_lowered_text.py" in text


def test_arguments_results_and_static_values_have_their_places():
    def scaled(x, factor, *, offset=1):
        return {"a": x * factor + offset}

    text = pl.lower_as_mlir(scaled, X, 2, offset=5, static_argnames="offset", platforms=["cpu"])
    assert "module @jit_scaled" in text and "result['a']" in text
    assert "%arg1: tensor<i32>" in text and "%arg2" not in text
    traced = pl.lower_as_mlir(scaled, X, 2, offset=5, platforms=["cpu"])
    assert "%arg2: tensor<i32>" in traced


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"dynamic_shapes": True}, NotImplementedError, "dynamic shapes are not compiled"),
        ({"platforms": ["tpu", "cuda"]}, NotImplementedError, "one platform at a time"),
        ({"platforms": ["cpu"]}, ValueError, "Only interpret mode is supported on CPU"),
    ],
)
def test_what_is_not_lowered_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        pl.lower_as_mlir(pl.pallas_call(double, X), X, **options)


def with_assembly(interpret, shapes=((16, 128),)):
    def kernel(x, out):
        (out[...],) = plgpu.elementwise_inline_asm(
            'tanh.approx.f32 $0, $1; // "fast"',
            args=[x[...]],
            constraints="=f,f",
            pack=1,
            result_shape_dtypes=[ir.ShapeDtypeStruct(shape, np.float32) for shape in shapes],
        )

    return pl.pallas_call(kernel, X, interpret=interpret)


def test_assembly_is_an_operation_of_triton():
    text = pl.lower_as_mlir(with_assembly(False), X, platforms=["cuda"])
    assert "tt.elementwise_inline_asm" in text and "packed_element = 1 : i32" in text
    assert "tanh.approx.f32 $0, $1;" in text


def test_assembly_is_refused_elsewhere():
    with pytest.raises(NotImplementedError, match="which only kernels compiled for them have"):
        pl.lower_as_mlir(with_assembly(True), X, platforms=["cpu"])
    with pytest.raises(NotImplementedError, match="elementwise_inline_asm"):
        pl.lower_as_mlir(with_assembly(False), X)
    with pytest.raises(ValueError, match=r"results of \[\(8, 128\)\]. Pass one operand"):
        pl.lower_as_mlir(with_assembly(False, [(8, 128)]), X, platforms=["cuda"])


def test_checks_for_debugging_are_refused_for_gpus_where_they_are_enabled():
    def kernel(x, out):
        pl.debug_check(x[0, 0] > 0, "positive")
        out[...] = x[...]

    f = pl.pallas_call(kernel, X)
    assert "cf.assert" not in pl.lower_as_mlir(f, X, platforms=["cuda"])
    with pl.enable_debug_checks(True):
        with pytest.raises(NotImplementedError, match="debug_check.*not supported by Triton"):
            pl.lower_as_mlir(f, X, platforms=["cuda"])
