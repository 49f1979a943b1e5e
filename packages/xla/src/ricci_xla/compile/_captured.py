"""Warning about functions that close over large arrays (``jax_captured_constants_warn_bytes``)."""

from collections.abc import Sequence

import ricci_ir as ir

_limit = ir.config.state("jax_captured_constants_warn_bytes")
_MAX_LISTED = 3  # the number of arrays that the warning describes, the largest first


def warn_captured(name: str, jaxpr: ir.Jaxpr, consts: Sequence[ir.ArrayLike]) -> None:
    """Warn if the arrays that a function closes over exceed the option's limit together.

    Args:
      name: the function's name.
      jaxpr: its jaxpr, whose first arguments are the arrays.
      consts: the arrays.
    """
    limit = _limit.value
    if limit is None or limit < 0 or not consts:
        return
    sizes = [_bytes(ir.get_aval(x)) for x in consts]
    if sum(sizes) < limit:
        return
    largest = sorted(range(len(consts)), key=sizes.__getitem__, reverse=True)[:_MAX_LISTED]
    lines = [
        f"- {ir.get_aval(consts[i]).str_short()}, {_format_bytes(sizes[i])}, "
        f"used {_first_use(jaxpr, i)}"
        for i in largest
    ]
    ir.warn_user(
        f"jit({name}) closes over arrays of {_format_bytes(sum(sizes))} together:\n"
        + "\n".join(lines)
        + "\nPass them as arguments, else they stay in memory for as long as the program does. If "
        "this is intended, set jax_captured_constants_warn_bytes to -1."
    )


def _bytes(aval: ir.ShapedArray) -> int:
    return aval.size * getattr(aval.dtype, "itemsize", 0)


def _format_bytes(size: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.4g} {unit}"
        size /= 1000
    return f"{size:.4g} GB"


def _first_use(jaxpr: ir.Jaxpr, i: int) -> str:
    var = jaxpr.invars[i]
    for eqn in jaxpr.eqns:
        if any(atom is var for atom in eqn.invars):
            return f"by {eqn.primitive.name} at {eqn.source}"
    return "as a result"
