"""Reasons why names of JAX's kernel modules are not implemented, and what to write instead."""

__all__: list[str] = []

PALLAS: dict[str, str] = {
    "enable_debug_checks": (
        "debug_check is not compiled into kernels. Call checkify.check in an interpreted "
        "kernel, under checkify."
    ),
    "enable_poison_buffers": (
        "interpreted buffers of floats always begin with NaN, and compiled ones with any values."
    ),
    "lower_as_mlir": (
        "kernels are written as text, not as MLIR's Python objects. Call "
        "jit(f).lower(...).as_text()."
    ),
    "pallas_export_experimental": (
        "kernels of symbolic block sizes are not compiled. Export a function for each shape."
    ),
    "select_ref": (
        "a reference that a traced number chooses has no known block. Read each reference, and "
        "select among the values by lax.select_n, or branch by lax.switch."
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
    "has_memory_space": (
        "the memory space of an array is not a part of its type. Read ref.aval.memory_space of "
        "a reference."
    ),
    "join_bits": (
        "values are not split into parts of bytes. Shift and combine integers by jnp.left_shift "
        "and jnp.bitwise_or."
    ),
    "split_bits": (
        "values are not split into parts of bytes. Shift and mask integers by jnp.right_shift "
        "and jnp.bitwise_and."
    ),
    "matmul_acc_lhs": f"adding to an accumulator is one instruction, and {_matrix_unit}",
    "matmul_lhs_fifo": f"streaming a left factor is one instruction, and {_matrix_unit}",
    "matmul_pop": f"reading an accumulator is one instruction, and {_matrix_unit}",
    "matmul_pop_fifo": f"reading a queue of results is one instruction, and {_matrix_unit}",
    "matmul_push_rhs": f"staging a right factor is one instruction, and {_matrix_unit}",
    "pack_fp6": (
        "words are not packed with floats of 6 bits in kernels. Pack integers by "
        "pltpu.pack_elementwise, or use float8 or float4."
    ),
    "unpack_fp6": (
        "words are not unpacked to floats of 6 bits in kernels. Unpack integers by "
        "pltpu.unpack_elementwise, or use float8 or float4."
    ),
}

TRITON: dict[str, str] = {
    "elementwise_inline_asm": (
        "assembly (PTX) is not written into kernels, as an interpreter cannot run it. Write the "
        "operation with lax or numpy."
    )
}
