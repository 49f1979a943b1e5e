"""Custom calls of functions that are lowered for NVIDIA GPUs, as JSON; both sides run this.

`python -m gpu_cases.calls OUT`, where `jax` is real JAX or the drop-in.
"""

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import jax
import jax.numpy as jnp
from gpu_cases.versions import state_versions
from jax import lax
from jax.experimental import rnn, sparse

BF16, F16, F32, I32 = jnp.bfloat16, np.float16, np.float32, np.int32
Q, K, FULL = (2, 64, 4, 32), (2, 48, 2, 32), (2, 48, 4, 32)


def _attend(*operands, names=(), **options):
    operands, named = operands[: len(operands) - len(names)], operands[len(operands) - len(names) :]
    options |= dict(zip(names, named, strict=True))
    return jax.nn.dot_product_attention(*operands, implementation="cudnn", **options)


def _gradient(count, function):
    total = lambda *operands: sum(x.astype(F32).sum() for x in jax.tree.leaves(function(*operands)))
    return jax.grad(total, argnums=tuple(range(count)))


def attention():
    """Return functions with cuDNN's attention, and their operands' shapes and dtypes, by name."""
    q, k, full, lengths = (Q, BF16), (K, BF16), (FULL, BF16), ((2,), I32)
    bias, mask = ((1, 4, 64, 48), BF16), ((2, 1, 64, 48), bool)
    causal = partial(_attend, is_causal=True)
    masked = partial(_attend, names=["mask"])
    both = partial(_attend, names=["mask"])
    padded = partial(_attend, names=["query_seq_lengths", "key_value_seq_lengths"], is_causal=True)
    stack = lambda *rows: [((3, *shape), dtype) for shape, dtype in rows]
    half = [(shape, F16) for shape in (Q, K, K)]
    return {
        "heads": (_attend, q, full, full),
        "groups": (_attend, q, k, k),
        "float16": (_attend, *half),
        "scale": (partial(_attend, scale=3), q, k, k),
        "causal": (causal, q, k, k),
        "causal, gradient": (_gradient(3, causal), q, full, full),
        "groups, gradient": (_gradient(3, _attend), q, k, k),
        "bias": (_attend, q, k, k, bias),
        "bias, gradient": (_gradient(4, _attend), q, k, k, bias),
        "bias of a batch, gradient": (_gradient(4, _attend), q, k, k, ((2, 4, 64, 48), BF16)),
        "bias of one head, gradient": (_gradient(4, _attend), q, k, k, ((1, 1, 64, 48), BF16)),
        "bias in float32": (_attend, q, k, k, ((1, 4, 64, 48), F32)),
        "mask": (masked, q, k, k, mask),
        "mask, gradient": (_gradient(3, masked), q, k, k, mask),
        "bias and mask, gradient": (_gradient(4, both), q, k, k, bias, mask),
        "lengths": (padded, q, k, k, lengths, lengths),
        "lengths, gradient": (_gradient(3, padded), q, k, k, lengths, lengths),
        "one length": (partial(_attend, names=["key_value_seq_lengths"]), q, k, k, lengths),
        "window": (partial(_attend, local_window_size=(5, 0)), q, k, k),
        "causal window": (partial(causal, local_window_size=4), q, k, k),
        "residual": (partial(_attend, return_residual=True), q, k, k),
        "residual, gradient": (_gradient(3, partial(_attend, return_residual=True)), q, k, k),
        "without a batch": (_attend, *[(shape[1:], dtype) for shape, dtype in (q, k, k)]),
        "vmap": (jax.vmap(_attend), *stack(q, k, k)),
        "vmap of queries": (jax.vmap(_attend, in_axes=(0, None, None)), *stack(q), k, k),
        "vmap, one bias": (jax.vmap(_attend, in_axes=(0, 0, 0, None)), *stack(q, k, k), bias),
        "vmap, gradient": (jax.vmap(_gradient(3, causal)), *stack(q, k, k)),
        "odd lengths": (_attend, *[((2, n, 4, 32), BF16) for n in (63, 47, 47)]),
        # Calls that are refused.
        "float32": (_attend, *[(shape, F32) for shape in (Q, K, K)]),
        "30 features": (_attend, *[((2, 64, 4, 30), BF16)] * 3),
        "512 features": (_attend, *[((2, 64, 4, 512), BF16)] * 3),
        "window to the right": (partial(_attend, local_window_size=4), q, k, k),
        "odd lengths, gradient": (_gradient(3, _attend), *[((2, 63, 4, 32), BF16)] * 3),
    }


def matrices():
    """Return functions whose kernels are cuSOLVER's or cuDNN's, with operands, by name."""
    functions = {}
    for dtype in ("float32", "float64", "complex64", "complex128"):
        square, batch = ((5, 5), np.dtype(dtype)), ((3, 5, 5), np.dtype(dtype))
        for method in (None, "CUSOLVER"):
            options = {} if method is None else {"implementation": method}
            functions[f"eig of {dtype} by {method}"] = partial(_eig, **options), square
            functions[f"batched eig of {dtype} by {method}"] = partial(_eig, **options), batch
        values = partial(_eig, compute_left_eigenvectors=False, compute_right_eigenvectors=False)
        functions[f"eigenvalues of {dtype}"] = values, square
        right = partial(_eig, compute_left_eigenvectors=False)
        functions[f"right eigenvectors of {dtype}"] = right, square
        functions[f"numpy.linalg.eig of {dtype}"] = jnp.linalg.eig, square
        functions[f"numpy.linalg.eigvals of {dtype}"] = jnp.linalg.eigvals, square
    return functions


def _eig(x, implementation=None, **options):
    if implementation is not None:
        options["implementation"] = lax.linalg.EigImplementation[implementation]
    return lax.linalg.eig(x, **options)


def products():
    """Return products of matrices that are scaled in blocks, with operands, by name."""
    fp8, scale8 = jnp.float8_e4m3fn, jnp.float8_e8m0fnu
    fp4 = jnp.float4_e2m1fn
    rows = {}
    for name, dtype, scale, size in (
        ("mxfp8", fp8, scale8, 32),
        ("mxfp4", fp4, scale8, 32),
        ("nvfp4", fp4, fp8, 16),
    ):
        operands = [((2, 64, 128), dtype), ((2, 96, 128), dtype)]
        scales = [((2, n, 128 // size), scale) for n in (64, 96)]
        for out in (F32, BF16, F16):
            function = partial(jax.nn.scaled_matmul, preferred_element_type=out)
            rows[f"{name} to {np.dtype(out).name}"] = (function, *operands, *scales)
    operands = [((2, 64, 128), F32)] * 2 + [((2, 64, 4), F32)] * 2
    rows["float32"] = (jax.nn.scaled_matmul, *operands)
    rows["vmap"] = (jax.vmap(jax.nn.scaled_matmul), *[((3, *s), d) for s, d in operands])
    rows["vmap, one right"] = (
        jax.vmap(jax.nn.scaled_matmul, in_axes=(0, None, 0, None)),
        *[((3, *s) if i % 2 == 0 else s, d) for i, (s, d) in enumerate(operands)],
    )
    numbers = (((2,), (2,)), ((0,), (0,)))
    for mode in ("mxfp8", "nvfp4"):
        configs = [jax.nn.get_scaled_dot_general_config(mode)] * 3
        options = {"dimension_numbers": numbers, "configs": configs}
        product = partial(jax.nn.scaled_dot_general, **options)
        rows[f"scaled_dot_general, {mode}"] = (product, *operands[:2])
        rows[f"scaled_dot_general, {mode}, gradient"] = (_gradient(2, product), *operands[:2])
    return rows


def _solve_on(transposed, data, indices, indptr, b, **options):
    """Solve a sparse system; a derivative by ``b`` solves the transposed one."""
    solve = lambda b: sparse.linalg.spsolve(data, indices, indptr, b, **options)
    return jax.vjp(solve, b)[1](b) if transposed else solve(b)


def sparse_systems():
    """Return sparse systems, which cuSOLVER solves, with operands, by name."""
    rows = {}
    for dtype in ("float32", "float64", "complex64", "complex128"):
        operands = [((7,), np.dtype(dtype)), ((7,), I32), ((6,), I32), ((5,), np.dtype(dtype))]
        for name, transposed in (("", False), (", transposed", True)):
            rows[f"{dtype}{name}"] = (partial(_solve_on, transposed), *operands)
    operands = [((7,), F32), ((7,), I32), ((6,), I32), ((5,), F32)]
    rows["options"] = (partial(_solve_on, False, tol=1e-3, reorder=0), *operands)
    rows["one equation"] = (
        partial(_solve_on, False),
        *[((n,), d) for n, d in ((1, F32), (1, I32), (2, I32), (1, F32))],
    )
    return rows


def _matrix(form, nse=7, shape=(4, 5), dtype: Any = F32, index: Any = I32, **order: Any):
    """Return a function from arrays to a matrix, and the arrays' shapes and dtypes."""
    vector = lambda size, dtype: ((size,), np.dtype(dtype))
    match form:
        case "COO":
            make = lambda *parts: sparse.COO(parts, shape=shape, **order)
            return make, [vector(nse, dtype), vector(nse, index), vector(nse, index)]
        case "CSR" | "CSC":
            make = lambda *parts: getattr(sparse, form)(parts, shape=shape)
            lines = shape[form == "CSC"]
            return make, [vector(nse, dtype), vector(nse, index), vector(lines + 1, index)]
        case "BCOO":
            make = lambda *parts: sparse.BCOO(parts, shape=shape, **order)
            return make, [vector(nse, dtype), ((nse, 2), np.dtype(index))]
        case "BCSR":
            make = lambda *parts: sparse.BCSR(parts, shape=shape, **order)
            lines = shape[0]
            return make, [vector(nse, dtype), vector(nse, index), vector(lines + 1, index)]


def _times(make, *operands):
    return make(*operands[:-1]) @ operands[-1]


def _transposed_times(make, *operands):
    return make(*operands[:-1]).T @ operands[-1]


def _gradient_of_product(make, *operands):
    *parts, x, weights = operands
    return jax.grad(lambda x: jnp.vdot(weights, make(*parts) @ x))(x)


def sparse_products():
    """Return products of sparse matrices, which cuSPARSE computes, with operands, by name."""
    rows = {}
    orders = [(by_row, by_column) for by_row in (False, True) for by_column in (False, True)]
    matrices = {
        **{
            f"COO, rows {by_row}, columns {by_column}": _matrix(
                "COO", rows_sorted=by_row, cols_sorted=by_column
            )
            for by_row, by_column in orders
        },
        **{
            f"{form} of {np.dtype(dtype).name}": _matrix(form, dtype=dtype, **order)
            for form, order in (("COO", {"rows_sorted": True}), ("CSR", {}))
            for dtype in (np.int32, F16, BF16, np.float64, np.complex64, np.complex128)
        },
        **{form: _matrix(form) for form in ("CSR", "CSC", "BCOO", "BCSR")},
        "CSR of int64 indices": _matrix("CSR", index=np.int64),
        "COO of int64 indices": _matrix("COO", index=np.int64, rows_sorted=True),
        "one row": _matrix("CSR", nse=3, shape=(1, 5)),
        "one column": _matrix("COO", nse=3, shape=(5, 1), rows_sorted=True),
        "sorted BCOO": _matrix("BCOO", indices_sorted=True),
    }
    for name, (make, parts) in matrices.items():
        dtype, n_rows, n_columns = parts[0][1], *_shape_of(make, parts)
        for width in ((), (3,)):
            x = ((n_columns, *width), dtype)
            y = ((n_rows, *width), dtype)
            kind = "matrix" if width else "vector"
            rows[f"{name}, {kind}"] = (partial(_times, make), *parts, x)
            rows[f"{name}, transposed, {kind}"] = (partial(_transposed_times, make), *parts, y)
            if np.issubdtype(dtype, np.floating):
                gradient = partial(_gradient_of_product, make)
                rows[f"{name}, gradient, {kind}"] = (gradient, *parts, x, y)
    return rows


def _shape_of(make, parts):
    return jax.eval_shape(lambda *p: make(*p), *[jax.ShapeDtypeStruct(*p) for p in parts]).shape


def sparse_products_by_option():
    """Return the products of BCOO and BCSR matrices, for the option that passes them on."""
    return {n: row for n, row in sparse_products().items() if "BC" in n}


def _layers(*operands, precision=None, sizes=(3, 4, 2), both=False):
    lstm: Any = rnn.lstm
    return lstm(*operands, *sizes, 0.0, both, precision)


def _gradients_of_layers(*operands, **options):
    def loss(*arrays):
        return sum(x.sum() for x in _layers(*arrays, operands[-1], **options))

    return jax.grad(loss, argnums=(0, 1, 2, 3))(*operands[:-1])


def recurrent_layers():
    """Return LSTM layers, which cuDNN computes, with operands, by name."""
    rows = {}
    for both in (False, True):
        for sizes in ((3, 4, 2), (1, 1, 1)):
            count = rnn.get_num_params_in_lstm(*sizes, both)
            state = ((sizes[2] * (2 if both else 1), 2, sizes[1]), F32)
            operands = [((2, 5, sizes[0]), F32), state, state, ((count,), F32), ((2,), I32)]
            name = f"{sizes}{', both directions' * both}"
            rows[name] = (partial(_layers, sizes=sizes, both=both), *operands)
            gradients = partial(_gradients_of_layers, sizes=sizes, both=both)
            rows[f"{name}, gradient"] = (gradients, *operands)
            if sizes == (3, 4, 2):
                for precision in ("high", "highest", "float32", "tensorfloat32"):
                    layers = partial(_layers, precision=precision, both=both)
                    rows[f"{name}, precision {precision}"] = (layers, *operands)
    return rows


def _as_json(attribute):
    text = str(attribute)
    if text.startswith('"'):
        content = attribute.value
        return json.loads(content) if content.startswith("{") else content
    return text


# By default a call has no side effects and calls no computation. Both write it or leave it out.
_DEFAULTS = {"has_side_effect": "false", "called_computations": "[]"}


def _attributes(operation) -> dict:
    """Return the attributes of a custom call that determine its computation."""
    found = {name: _as_json(operation.attributes[name]) for name in operation.attributes}
    # JAX writes the attributes of a typed call in the older of two forms.
    if "mhlo.backend_config" in found:
        found |= {"backend_config": found.pop("mhlo.backend_config"), "api_version": "4 : i32"}
    return {n: value for n, value in found.items() if _DEFAULTS.get(n) != value}


def custom_calls(lowered) -> list:
    """Return the target, attributes and types of each custom call, in order."""
    calls = []

    def visit(operation):
        for region in operation.regions:
            for block in region.blocks:
                for inner in block.operations:
                    if inner.operation.name == "stablehlo.custom_call":
                        attributes = _attributes(inner)
                        types = [str(x.type) for x in (*inner.operands, *inner.results)]
                        calls.append([attributes, types])
                    visit(inner.operation)

    visit(lowered.compiler_ir("stablehlo").operation)
    return calls


def lower(function, *operands) -> list | str:
    """Return the custom calls of a function, or the class of the error."""
    shapes = [jax.ShapeDtypeStruct(*operand) for operand in operands]
    try:
        jitted: Any = jax.jit(function)
        return custom_calls(jitted.trace(*shapes).lower(lowering_platforms=("cuda",)))
    except Exception as error:  # noqa: BLE001 - which error it is is compared, too
        return type(error).__name__


def main(out: str) -> None:
    """Write the custom calls of all functions as JSON."""
    jax.config.update("jax_enable_x64", True)
    state_versions()
    tables = {"attention": attention, "matrices": matrices, "products": products}
    tables["sparse systems"] = sparse_systems
    tables |= {"sparse products": sparse_products, "recurrent layers": recurrent_layers}
    results = {t: {n: lower(*row) for n, row in make().items()} for t, make in tables.items()}
    jax.config.update("jax_bcoo_cusparse_lowering", True)
    products_by_option = sparse_products_by_option().items()
    results["sparse products, by option"] = {n: lower(*row) for n, row in products_by_option}
    Path(out).write_text(json.dumps(results))


if __name__ == "__main__":
    main(*sys.argv[1:])
