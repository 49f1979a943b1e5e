"""Programs with symbolic shapes, run for arguments of known shapes."""

import io
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxlib._jax import mlir

import ricci
from ricci_ir import symbolic_shape
from ricci_stablehlo import tensor_type
from ricci_xla import compile_text, devices
from ricci_xla.devices._jaxlib import load_mlir

from .cases import Case

_type = r"tensor<(?:complex<f\d+>|[^<>])*>"


def _with_known_shapes(text: str, avals: Sequence[Any], out_avals: Sequence[Any]) -> str:
    """A module whose ``@main`` has static shapes, and calls the one of ``text``."""
    text = text.replace("@main(", "@_symbolic(").replace("func.func public", "func.func private")
    found = re.search(r"func.func private @_symbolic\((.*)\) -> (.*) \{\n", text)
    assert found is not None
    inputs = re.findall(rf"%arg\d+: ({_type})", found[1])
    outputs = re.findall(rf"({_type})", found[2])
    ins, outs = [list(map(tensor_type, avals)) for avals in (avals, out_avals)]
    lines = [
        f"  func.func public @main({', '.join(f'%a{i}: {t}' for i, t in enumerate(ins))}) -> "
        f"({', '.join(outs)}) {{"
    ]
    for i, (known, symbolic) in enumerate(zip(ins, inputs, strict=True)):
        lines.append(f"    %c{i} = stablehlo.convert %a{i} : ({known}) -> {symbolic}")
    count = len(outputs)
    head = f"%r:{count} = " if count else ""
    lines.append(
        f"    {head}call @_symbolic({', '.join(f'%c{i}' for i in range(len(ins)))}) : "
        f"({', '.join(inputs)}) -> ({', '.join(outputs)})"
    )
    for i, (known, symbolic) in enumerate(zip(outs, outputs, strict=True)):
        lines.append(f"    %o{i} = stablehlo.convert %r#{i} : ({symbolic}) -> {known}")
    names = ", ".join(f"%o{i}" for i in range(count))
    lines.append(f"    return {names} : {', '.join(outs)}\n  }}" if count else "    return\n  }")
    parts = re.match(r"(.*?^module [^\n]*\{\n)(.*)", text, re.S | re.M)
    assert parts is not None
    return parts[1] + "\n".join(lines) + "\n" + parts[2]


def _refined(text: str) -> str:
    ir, context = load_mlir()
    with context:
        buffer = io.BytesIO()
        ir.Module.parse(text).operation.write_bytecode(buffer)
        refined = mlir.refine_polymorphic_shapes(buffer.getvalue(), True, True, True)
        return str(ir.Module.parse(refined))


def run_symbolic(fun: Callable[..., Any], specs: Sequence[Any], args: Sequence[Any]) -> Any:
    """The results of ``fun``, traced and lowered for the symbolic ``specs``, for ``args``."""
    text = ricci.jit(fun, keep_unused=True).lower(*specs).as_text()
    out = ricci.eval_shape(fun, *args)
    outs, tree = ricci.tree.flatten(out)
    leaves = [np.asarray(x) for x in ricci.tree.leaves(args)]
    avals, out_avals = ([ricci.typeof(x) for x in xs] for xs in (leaves, outs))
    device = devices()[0]
    executable = compile_text(_refined(_with_known_shapes(text, avals, out_avals)), [device])
    buffers = [ricci.device_put(x, device) for x in leaves]
    results = executable.execute_sharded(buffers).disassemble_into_single_device_arrays()
    return ricci.tree.unflatten(tree, [np.asarray(x[0]) for x in results])


_names = {"jax": ricci, "jnp": ricci.numpy, "lax": ricci.lax, "np": np}


def function_of(case: Case) -> Callable[..., Any]:
    """A case as a function of its operands that have dimensions."""
    arrays = case.arrays
    others = {k: v for k, v in case.inputs.items() if k not in arrays}

    def fun(*operands: Any) -> Any:
        named = dict(zip(arrays, operands, strict=True))
        return eval(case.source, {**_names, **others, **named})

    return fun


def _specs(case: Case, constraints: Sequence[str] = ()) -> list[Any]:
    (n,) = symbolic_shape("n", constraints=constraints)
    return [
        ricci.ShapeDtypeStruct(tuple(n if m == case.size else m for m in x.shape), x.dtype)
        for x in case.arrays.values()
    ]


def lowering_error(case: Case) -> str:
    """The class of the error that tracing and lowering a case raises; empty if there is none."""
    try:
        ricci.jit(function_of(case), keep_unused=True).lower(*_specs(case)).as_text()
    except Exception as error:  # noqa: BLE001  # whatever it is, it is the answer
        return type(error).__name__
    return ""


def difference(case: Case, size: int) -> str:
    """The difference of a case from the same call of known shapes, whose size is ``size``.

    Nothing is said where the call itself fails for that size, since it names other sizes. For size
    0 the variable is one that may be 0.
    """
    fun = function_of(case)
    args = [
        np.resize(x, tuple(size if n == case.size else n for n in x.shape))
        for x in case.arrays.values()
    ]
    try:
        expected = ricci.jit(fun)(*args)
    except (TypeError, ValueError, IndexError):
        return ""
    found = run_symbolic(fun, _specs(case, ["n >= 0"] if size == 0 else []), args)
    pairs = zip(ricci.tree.leaves(found), ricci.tree.leaves(expected), strict=True)
    for a, b in pairs:
        a, b = np.asarray(a), np.asarray(b)
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"{a.dtype}{a.shape} instead of {b.dtype}{b.shape}"
        if not np.allclose(a.astype(complex), b.astype(complex), 1e-3, 1e-4, equal_nan=True):
            return f"{a} instead of {b}"
    return ""
