"""Disagreements that are accepted, each with its reason."""

from dataclasses import dataclass

from .agreement import Disagreement


@dataclass(frozen=True, slots=True)
class Expected:
    """A disagreement with a reason.

    Attributes:
        kind: what differs, as in `Disagreement`.
        mentions: what stands in the program or in the text of the difference.
        reason: why it is accepted.
    """

    kind: str
    mentions: tuple[str, ...]
    reason: str

    def covers(self, found: Disagreement) -> bool:
        text = str(found)
        return self.kind == found.kind and all(part in text for part in self.mentions)


EXPECTED: tuple[Expected, ...] = (
    Expected(
        "outcome",
        ("theirs: TypeError: `preferred_element_type` must not be narrower", "ours:   a value"),
        "JAX refuses products of weakly typed integers with narrower ones; they are computed here",
    ),
    Expected(
        "weak_type",
        ("axis_name='i'", "weak type\ntheirs: array"),
        "JAX's collectives of mapped axes keep the weak type where nothing is compiled, and not in "
        "programs; here they keep it in both",
    ),
    Expected(
        "outcome",
        ("ours:   UnexpectedTracerError", "theirs: CustomVJPException", "with_static_vjp"),
        "differentiated by what a function closes over: refused by both, under other names",
    ),
    Expected(
        "weak_type",
        ("grad(program)(*args)\n# transformed", "fori_loop(", "weak type\ntheirs: array float"),
        "the derivative by a weakly typed start of a loop whose body returns what is not: weak "
        "here, as outside of loops, and not in JAX",
    ),
    Expected(
        "values",
        ("size=2, fill_value=-1", "ours:   [[-1], [-1]]\ntheirs: [[0], [0]]"),
        "nonzero and argwhere of an empty array: JAX fills with 0 instead of fill_value",
    ),
    Expected(
        "outcome",
        ("theirs: TypeError: lower and upper arguments to fori_loop must", "ours:   a value"),
        "JAX refuses an unsigned bound beside a Python number; such loops run here",
    ),
    Expected(
        "outcome",
        ("lax.map(", "batch_size=", "theirs: ZeroDivisionError", "ours:   a value"),
        "JAX divides by the number of rows, which is 0, of an empty array",
    ),
    Expected(
        "outcome",
        ("lax.custom_root(", "theirs: NotImplementedError: for linearize support, subclass"),
        "JAX has no second derivative of a mapped and checkpointed root",
    ),
    Expected(
        "values",
        ("jnp.cross(", "jnp.argmax("),
        "the product of a vector with itself is zero where programs cancel it, and a few roundings "
        "where it is computed alone, as JAX's; which of them is the largest differs",
    ),
    Expected(
        "values",
        ("jnp.frexp(", "jax.hessian("),
        "JAX's derivative of frexp in forward over reverse mode is not the one that it has in "
        "forward over forward mode, which is that of finite differences and the one here",
    ),
    Expected(
        "values",
        ("with_jvps(", "lax.scan(", "grad(grad("),
        "JAX forgets the rule of a custom_jvp function in the second gradient of a scan, and "
        "differentiates the function itself; outside of scans it keeps the rule, as here",
    ),
    Expected(
        "outcome",
        (".apply(", "theirs: NotImplementedError: scatter_apply JVP not implemented", "a value"),
        "what is computed for nobody is removed before a program is differentiated",
    ),
    Expected(
        "outcome",
        ("jnp.unravel_index(", "ours:   TypeError: unravel_index: indices", "theirs: a value"),
        "NumPy refuses floats as positions, and so does Ricci; JAX divides them",
    ),
    Expected(
        "outcome",
        ("ours:   a value", "theirs: ValueError: Eager shard_map cannot return a `jax.Ref`"),
        "JAX refuses a reference that does not vary over devices and is written with what does; "
        "its eager shard_map refuses all references",
    ),
    *(
        Expected(
            "outcome",
            ("ours:   a value", f"theirs: NotImplementedError: Differentiation rule for '{name}'"),
            "JAX has no derivative of the extrema over mapped axes and devices",
        )
        for name in ("pmin", "pmax")
    ),
    Expected(
        "outcome",
        ("with_vmap(", "ours:   a value", "theirs: ValueError: Linearization failed to produce"),
        "JAX has no reverse mode of custom_vmap functions",
    ),
    Expected(
        "outcome",
        ("sequential_vmap(", "ours:   a value", "theirs: ValueError: Linearization failed to"),
        "JAX has no reverse mode of custom_vmap functions",
    ),
    Expected(
        "outcome",
        ("ours:   a value", "varying manual axes to match", "check_vma=False"),
        "JAX has operations whose operands must vary over the same devices, and asks for a report",
    ),
    Expected(
        "outcome",
        ("_ref(", "ours:   a value", "theirs: ValueError: at vmap out_axes[0], got"),
        "JAX cannot map the tangent of a reference alone",
    ),
    Expected(
        "outcome",
        ("sequential_vmap(", "ours:   a value", "theirs: ValueError: scan got no values to scan"),
        "JAX's loop of sequential_vmap needs a mapped argument, and a rule may have none",
    ),
    Expected(
        "outcome",
        ("ours:   a value\ntheirs: AssertionError",),
        "JAX fails by an assertion of its own, as with collectives over two mapped axes",
    ),
    *(
        Expected(
            "weak_type",
            (f"\n{form}(", "(*args)\n# transformed: weak_type\nat result(1)"),
            "the tangent of a weakly typed value along one that is not: in JAX weak behind what is "
            "compiled, the functions of jax.numpy too; here behind what the user has compiled, and "
            "in linear functions",
        )
        for form in ("jvp", "linearize", "jit(jvp", "jit(linearize")
    ),
)


def reason(found: Disagreement) -> str | None:
    """Why a disagreement is accepted, or None where it is not."""
    return next((row.reason for row in EXPECTED if row.covers(found)), None)
