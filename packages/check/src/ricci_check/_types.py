"""RC201 to RC401 and RC701: types of arguments, constants and results."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_pytree import PyTreeDef, treedef_children

from ._report import Finding, finding

# Below that, tables of coefficients and masks are common, and cost nothing that one would notice.
LARGE_CONSTANT = 2**20  # bytes


def narrowed_arguments(
    names: Sequence[str], leaves: Sequence[Any], where: ir.Source
) -> Iterator[Finding]:
    """Yield findings of arguments of 64-bit dtypes, which are converted to 32-bit ones."""
    for name, leaf in zip(names, leaves, strict=True):
        narrowing = _narrowing(f"the argument {name}", leaf, "warning")
        if narrowing is not None:
            code, message, severity = narrowing
            yield finding(code, where, message, severity)


def constants(jaxpr: ir.Jaxpr, where: ir.Source) -> Iterator[Finding]:
    """Yield findings of constants that are large or of 64-bit dtypes, at their first use."""
    for var, const in zip(jaxpr.constvars, jaxpr.consts, strict=True):
        if isinstance(const, ir.Tracer):
            continue
        source = next(
            (e.source for e in jaxpr.eqns if any(a is var for a in e.invars) and e.raw_source[0]),
            where,
        )
        aval: Any = var.aval
        size = aval.size * aval.dtype.itemsize
        if size > LARGE_CONSTANT:
            kind = aval.str_short()
            text = f"a constant of {size / 2**20:.1f} MB, {kind}, is closed over"
            yield finding("RC401", source, text)
        narrowing = _narrowing(f"a constant, {getattr(const, 'dtype', '')}[", const, "note")
        if narrowing is not None:
            code, _, severity = narrowing
            shape = ",".join(map(str, const.shape))
            message = f"a constant is {const.dtype}[{shape}] and becomes {aval.dtype}"
            yield finding(code, source, message + _loss(const, aval.dtype), severity)


def _narrowing(what: str, x: Any, mild: str) -> tuple[str, str, str] | None:
    """Return the code, message and severity for a value of a 64-bit dtype; ``None`` for others."""
    dtype = getattr(x, "dtype", None)
    # Scalars of NumPy (np.float64(0.1)) come from plain arithmetic; nobody chose their width.
    if not isinstance(dtype, np.dtype) or isinstance(x, np.generic) or not hasattr(x, "shape"):
        return None
    target: np.dtype = ir.canonicalize_dtype(dtype)
    if target == dtype:
        return None
    code = "RC201" if dtype.kind in "fc" else "RC202"
    message = f"{what} is {dtype}{list(x.shape)} and becomes {target}"
    loss = _loss(x, target)
    severity = "error" if "overflow" in loss else mild if code == "RC202" else "warning"
    return code, message + loss, severity


def _loss(x: object, target: np.dtype) -> str:
    """Return the end of a message on integers that overflow in the narrower dtype, or ""."""
    if not (isinstance(x, np.ndarray) and x.dtype.kind in "iu" and x.size):
        return ""
    limits = np.iinfo(target)
    wrong = x[(x < limits.min) | (x > limits.max)]
    return f": {wrong.size} of its numbers overflow, such as {wrong[0]}" if wrong.size else ""


def digits_lost(source: ir.Source, old: np.dtype, new: np.dtype) -> Finding:
    """Return the finding of integers promoted to a dtype that does not hold all of theirs.

    Floats of 32 bits hold what programs count, so that those are a note.
    """
    if ir.issubdtype(new, np.integer):
        return finding("RC203", source, f"{old} is promoted to {new}, where some numbers wrap")
    info = ir.finfo(new)
    # With the implicit leading bit, a float holds nmant + 1 significant bits.
    message = f"{old} is promoted to {new}, which rounds integers above 2**{info.nmant + 1}"
    return finding("RC203", source, message, "warning" if info.bits < 32 else "note")


def type_drift(
    in_tree: PyTreeDef, names: Sequence[str], jaxpr: ir.Jaxpr, out_tree: PyTreeDef, where: ir.Source
) -> Iterator[Finding]:
    """Yield findings of results with the structure and shapes of an argument, but other dtypes.

    Feeding such a result back as that argument compiles the function again. The whole result is
    compared with each argument. So is each element of a result that is a tuple, unless it is a
    single scalar, which is seldom fed back.
    """
    arguments = list(_arguments(in_tree, names, jaxpr.in_avals))
    for start, tree, label in _parts(out_tree):
        avals = jaxpr.out_avals[start : start + tree.num_leaves]
        fitting = [
            (types, leaf_names)
            for structure, types, leaf_names in arguments
            if structure == tree and avals and _shapes(types) == _shapes(avals)
        ]
        if label and len(avals) == 1 and not _shapes(avals)[0]:
            continue
        if not fitting or any(types == avals for types, _ in fitting):
            continue
        types, leaf_names = fitting[0]
        for name, before, after in zip(leaf_names, types, avals, strict=True):
            if before is not after and _may_become(before, after):
                message = (
                    f"the result{label} fits the argument {name}, which is {described(before)} "
                    f"and would be {described(after)} in the next call"
                )
                yield finding("RC301", where, message)
                break


def _may_become(before: Any, after: Any) -> bool:
    """Whether an argument of one type is likely to be replaced by a result of another."""
    kinds = [
        next((k for k in (np.inexact, np.integer) if ir.issubdtype(aval.dtype, k)), None)
        for aval in (before, after)
    ]
    if None in kinds:
        return False
    # A weakly typed argument becomes whatever results are; otherwise only a float replaces a float
    # and an integer an integer: a float32 loss does not replace an int32 step counter.
    return before.weak_type or kinds[0] is kinds[1]


def described(aval: ir.AbstractValue) -> str:
    """Format a type for a message: ``float32[3]``, or ``float32[] (weakly typed)``."""
    weak = " (weakly typed)" if getattr(aval, "weak_type", False) else ""
    return f"{aval.str_short()}{weak}"


def _arguments(
    in_tree: PyTreeDef, names: Sequence[str], avals: Sequence[ir.AbstractValue]
) -> Iterator[tuple[PyTreeDef, list[ir.AbstractValue], Sequence[str]]]:
    """Yield for each argument its structure, and the types and names of its leaves."""
    args, kwargs = treedef_children(in_tree)
    start = 0
    for tree in (*treedef_children(args), *treedef_children(kwargs)):
        stop = start + tree.num_leaves
        yield tree, list(avals[start:stop]), names[start:stop]
        start = stop


def _parts(out_tree: PyTreeDef) -> Iterator[tuple[int, PyTreeDef, str]]:
    """Yield the first leaf, structure and label of the result and of each of its elements."""
    yield 0, out_tree, ""
    node = out_tree.node_data()
    if node is not None and node[0] in (tuple, list):
        start = 0
        for i, tree in enumerate(treedef_children(out_tree)):
            yield start, tree, f"[{i}]"
            start += tree.num_leaves


def _shapes(avals: Sequence[ir.AbstractValue]) -> list[ir.Shape | None]:
    return [aval.shape if isinstance(aval, ir.ShapedArray) else None for aval in avals]


def unused_donations(call: ir.DonatingCall) -> Iterator[Finding]:
    """Yield findings of donated arguments that the function does not use, or that fit no result."""
    jaxpr = call.jaxpr
    used = {id(a) for eqn in jaxpr.eqns for a in eqn.invars} | {id(a) for a in jaxpr.outvars}
    # A buffer serves one result of its shape and dtype, as XLA assigns donated buffers; each match
    # takes one off the list.
    free = [_kind(aval) for aval in jaxpr.out_avals]
    arguments = zip(call.arg_names, jaxpr.invars[call.consts :], call.donated, strict=True)
    for name, var, donated in arguments:
        if not donated:
            continue
        kind = _kind(var.aval)
        if id(var) not in used:
            reason = "is not used"
        elif kind in free:
            free.remove(kind)
            continue
        else:
            reason = f"is {var.aval.str_short()}, and no result that is left has this type"
        yield finding("RC701", call.source, f"{name} is donated to {call.name} but {reason}")


def _kind(aval: ir.AbstractValue) -> tuple[ir.Shape, np.dtype] | None:
    return (aval.shape, aval.dtype) if isinstance(aval, ir.ShapedArray) else None
