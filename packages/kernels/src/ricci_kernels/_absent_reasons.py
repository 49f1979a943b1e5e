"""Reasons why names of JAX's kernel modules are not implemented, and what to write instead."""

__all__: list[str] = []

PALLAS: dict[str, str] = {
    "enable_poison_buffers": (
        "interpreted buffers of floats always begin with NaN, and compiled ones with any values."
    ),
    "pallas_export_experimental": (
        "kernels of symbolic block sizes are not compiled. Export a function for each shape."
    ),
}

_matrix_unit = (
    "the registers of a TPU's matrix units are not exposed. Multiply by jnp.dot or "
    "lax.dot_general, which the compiler of kernels assigns to the units."
)
TPU: dict[str, str] = {
    "ACC": f"it is an accumulator of a matrix unit, and {_matrix_unit}",
    "core": "it is an internal module of JAX. The classes of memories and semaphores are in pltpu.",
    "emit_pipeline_with_async_prefetch": (
        "a pipeline fetches its first blocks itself. Call pltpu.emit_pipeline, or "
        "pltpu.make_async_copy ahead of it."
    ),
    "matmul_acc_lhs": f"adding to an accumulator is one instruction, and {_matrix_unit}",
    "matmul_lhs_fifo": f"streaming a left factor is one instruction, and {_matrix_unit}",
    "matmul_pop": f"reading an accumulator is one instruction, and {_matrix_unit}",
    "matmul_pop_fifo": f"reading a queue of results is one instruction, and {_matrix_unit}",
    "matmul_push_rhs": f"staging a right factor is one instruction, and {_matrix_unit}",
}
