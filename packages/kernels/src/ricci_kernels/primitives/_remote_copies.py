"""The primitives of copies to other devices, and of semaphores there.

Interpreted, all devices of a mesh run a kernel in lockstep, so that a copy is a collective: each
device gathers what all send, and takes what is sent to it. A device whose branch had none would
wait for ever, so branches with copies must not depend on data or on the device.
"""

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
import ricci_numpy as jnp
from ricci_kernels.blocks._programs import num_programs_p, program_id_p
from ricci_lax.refs import TransformedRef, common_bounds, element_count, read_bounded, write_bounded

from ._accesses import Reference
from ._copies import Forms, count_now, references_of, split_references, statement

__all__: list[str] = []

# The axes of the mesh, with their sizes.
type MeshAxes = tuple[tuple[Hashable, int], ...]


def _names(axes: MeshAxes) -> tuple[Hashable, ...]:
    return tuple([name for name, _ in axes])


class _Arrivals:
    """The values that devices send in one operation."""

    def __init__(self, axes: MeshAxes, device: ir.Array):
        self.names = _names(axes)
        self.count = int(np.prod([size for _, size in axes]))
        self.position = ir.axis_position.call(self.names)
        self.targets = self.gathered(device)

    def gathered(self, x: ir.Array) -> ir.Array:
        """The value on each device."""
        return ir.axis_members.call(x, self.names)

    def is_arriving(self, sender: int) -> ir.Array:
        """Whether a device sends to this one."""
        return self.targets[sender] == self.position

    def views(
        self, ref: ir.Ref, positions: Sequence[Any], transforms: tuple[Any, ...]
    ) -> list[Reference]:
        """A view of a reference on this device, as each device indexes it."""
        indices = [self.gathered(x) for x in positions]
        if not transforms:
            return [ref] * self.count
        return [
            TransformedRef(ref, transforms, tuple([x[sender] for x in indices]))
            for sender in range(self.count)
        ]


def _start_discharge(*operands: ir.Ref | ir.Array, forms: Forms, axes: MeshAxes) -> list[Any]:
    source, target, sent, _ = references_of(operands, forms)
    parts = split_references(operands, forms)
    arrivals = _Arrivals(axes, operands[-1])  # pyright: ignore
    count = element_count(source)
    counts = arrivals.gathered(count) if isinstance(count, ir.Array) else None
    # The devices send parts of their own sizes, within one bound.
    if counts is not None:
        source, target = common_bounds(source, target)
    values = arrivals.gathered(read_bounded(source))
    target_forms = target.forms if isinstance(target, TransformedRef) else ()
    targets = arrivals.views(*parts[1], target_forms)
    semaphores = arrivals.views(*parts[3], forms[3][1])
    for sender, (target, semaphore) in enumerate(zip(targets, semaphores, strict=True)):
        is_arriving = arrivals.is_arriving(sender)
        old = read_bounded(target)
        write_bounded(target, jnp.where(is_arriving, values[sender], old))
        arrived = count if counts is None else counts[sender]
        count_now(semaphore, lax.convert_element_type(is_arriving, np.int32) * arrived)
    count_now(sent, count)
    return []


def _wait_discharge(
    *operands: ir.Ref | ir.Array, forms: Forms, axes: MeshAxes, is_sending: bool
) -> list[Any]:
    source, target, sent, arrived = references_of(operands, forms)
    if is_sending:
        count_now(sent, -element_count(source))
    else:
        count_now(arrived, -element_count(target))
    return []


def _signal_discharge(*operands: ir.Ref | ir.Array, forms: Forms, axes: MeshAxes) -> list[Any]:
    ((ref, positions),) = split_references(operands, forms)
    arrivals = _Arrivals(axes, operands[-1])  # pyright: ignore
    counts = arrivals.gathered(operands[-2])  # pyright: ignore
    for sender, semaphore in enumerate(arrivals.views(ref, positions, forms[0][1])):
        is_arriving = arrivals.is_arriving(sender)
        count_now(semaphore, jnp.where(is_arriving, counts[sender], np.int32(0)))
    return []


# Operands: the source, the target, the semaphores of sending and of arrival, each with the
# positions of its indices; the number of the device.
remote_copy_start_p: ir.Primitive = statement("remote_copy_start", _start_discharge)
# The same operands; it waits for the end of the sending, or for the arrival.
remote_copy_wait_p: ir.Primitive = statement("remote_copy_wait", _wait_discharge)
# Operands: the semaphore with the positions of its indices, a count, the number of the device.
remote_signal_p: ir.Primitive = statement("remote_signal", _signal_discharge)

_remote = (remote_copy_start_p, remote_signal_p)


def mesh_axes(jaxpr: ir.Jaxpr) -> MeshAxes:
    """The axes of the mesh over which a kernel communicates."""
    return next(_mesh_axes(jaxpr), ())


def _mesh_axes(jaxpr: ir.Jaxpr) -> Iterator[MeshAxes]:
    for eqn in jaxpr.eqns:
        if eqn.primitive in _remote:
            yield eqn.params["axes"]
        for inner in ir.jaxprs_in_params(eqn.params):
            yield from _mesh_axes(inner)


def check_lockstep(kernel: ir.Jaxpr) -> None:
    """Refuse a kernel whose devices may communicate in different steps.

    Args:
      kernel: the kernel.

    Raises:
      NotImplementedError: if a branch or a loop with communication depends on data or the device.
    """
    _differs(kernel, [isinstance(v.aval, ir.AbstractRef) for v in kernel.invars], None)


def _differs(jaxpr: ir.Jaxpr, arguments: Sequence[bool], branch: ir.JaxprEqn | None) -> list[bool]:
    """Whether each result may differ between devices; ``branch`` is one that they choose apart."""
    differing = {v for v, flag in zip(jaxpr.invars, arguments, strict=True) if flag}
    flag = lambda atom: type(atom) is ir.Var and atom in differing
    for eqn in jaxpr.eqns:
        if branch is not None and eqn.primitive in _remote:
            line = f"\nIt is at {branch.source}" if branch.raw_source[0] is not None else ""
            raise NotImplementedError(
                f"{branch.primitive.name}: the devices may choose differently whether they "
                "communicate (make_async_remote_copy, semaphore_signal), and an interpreter runs "
                "them in lockstep. Let the condition depend on program_id and constants only, and "
                f"choose the device by device_id.{line}"
            )
        flags = list(map(flag, eqn.invars))
        # The devices run the steps of the grid together. References may hold different elements on
        # each of them, whatever was written, so that all that is read from one may differ.
        if eqn.primitive in (program_id_p, num_programs_p):
            results = [False] * len(eqn.outvars)
        elif any(True for _ in ir.jaxprs_in_params(eqn.params)):
            results = _inner_differs(eqn, flags, branch)
        else:
            reads = any(isinstance(x.aval, ir.AbstractRef) for x in eqn.invars)
            differs = reads or any(flags) or eqn.primitive.name == "axis_index"
            results = [differs] * len(eqn.outvars)
        differing.update(v for v, value in zip(eqn.outvars, results, strict=True) if value)
    return [flag(x) for x in jaxpr.outvars]


def _inner_differs(
    eqn: ir.JaxprEqn, flags: Sequence[bool], branch: ir.JaxprEqn | None
) -> list[bool]:
    """The flags of the results of an equation with jaxprs, whose last arguments are operands."""
    params = eqn.params
    if eqn.primitive is lax.scan_p:
        first, count = params["num_consts"], params["num_carry"]

        def iterate(carry: list[bool]) -> tuple[list[bool], list[bool]]:
            arguments = [*flags[:first], *carry, *flags[first + count :]]
            outs = _differs(params["jaxpr"], arguments, branch)
            return outs, [a or b for a, b in zip(carry, outs, strict=False)]

        return ir.fixpoint(iterate, list(flags[first : first + count]))[0]
    if eqn.primitive is lax.while_p:
        split = params["cond_nconsts"], params["body_nconsts"]
        condition, body = flags[: split[0]], flags[split[0] : sum(split)]

        def step(carry: list[bool]) -> tuple[None, list[bool]]:
            (is_apart,) = _differs(params["cond_jaxpr"], [*condition, *carry], branch)
            outs = _differs(params["body_jaxpr"], [*body, *carry], eqn if is_apart else branch)
            return None, [a or b or is_apart for a, b in zip(carry, outs, strict=True)]

        return ir.fixpoint(step, list(flags[sum(split) :]))[1]
    if eqn.primitive is lax.cond_p:
        inner = eqn if flags[0] else branch
        branches = [_differs(b, flags[1:], inner) for b in params["branches"]]
        return [flags[0] or any(outs) for outs in zip(*branches, strict=True)]
    results = []
    for inner in ir.jaxprs_in_params(params):
        # Without a rule for the primitive: the last operands are the jaxpr's, and arguments beyond
        # the operands may differ.
        missing = len(inner.invars) - len(flags)
        operands = [*flags, *[True] * missing] if missing >= 0 else flags[-len(inner.invars) :]
        results = _differs(inner, operands, branch)
    return results if len(results) == len(eqn.outvars) else [True] * len(eqn.outvars)
