"""Split a jaxpr by a checkpoint policy into saved residuals and recomputed equations."""

from collections.abc import Sequence
from itertools import compress

import ricci_ir as ir
from ricci_lax.checkpoint_policies import AwaitedOffload, Offloadable, Policy, decision
from ricci_lax.rules._saving import saving_rules
from ricci_lax.structure._names import substitute_p


class RematPlan(ir.TupleRecord):
    """A jaxpr split into a forward pass that saves values and a pass that recomputes the others.

    Attributes:
      first: the equations of the forward pass.
      saved: variables of the forward pass that the second pass reads.
      again: the equations of the second pass.
      awaited: the saved variables whose moves the results of the forward pass wait for.
    """

    first: list[ir.JaxprEqn]
    saved: list[ir.Var]
    again: list[ir.JaxprEqn]
    awaited: Sequence[ir.Var] = ()

    def reads(self, outvars: Sequence[ir.Atom]) -> set[ir.Atom]:
        """The atoms that the second pass reads, with ``outvars`` as its results."""
        return {*outvars, *(atom for eqn in self.again for atom in eqn.invars)}


def remat_plan(jaxpr: ir.Jaxpr, policy: Policy | None, outvars: Sequence[ir.Atom]) -> RematPlan:
    """Split a jaxpr into the values that a policy saves and the equations that recompute others.

    Args:
      jaxpr: the jaxpr.
      policy: the policy; ``None`` saves nothing.
      outvars: the results of the second pass, which reads the arguments and the saved values.

    Equations with effects are in both passes, unless the policy saves their results.
    """
    if policy is None:
        return RematPlan(jaxpr.eqns, [], ir.live_equations(jaxpr.eqns, outvars))
    needed = set(outvars)
    first: list[ir.JaxprEqn] = []
    again: list[ir.JaxprEqn] = []
    saved: list[ir.Var] = []
    awaited: list[ir.Var] = []
    # From the last equation to the first: the operands of a saved value need no recomputation.
    for eqn in reversed(jaxpr.eqns):
        live = tuple([v in needed for v in eqn.outvars])
        if not any(live) and not eqn.effects:
            first.append(eqn)
            continue
        verdict = decision(policy, eqn)
        if verdict is not False:
            for var in compress(eqn.outvars, live):
                stored = var
                if isinstance(verdict, Offloadable) and ir.memory_move.is_provided:
                    # The first pass moves the value to the other memory; the second moves it back.
                    stored = ir.Var(var.aval)
                    out = ir.memory_move.call(var, stored, verdict.dst)
                    back = ir.memory_move.call(stored, var, verdict.src)
                    first.append(out.replace(source_info=eqn.raw_source))
                    again.append(back.replace(source_info=eqn.raw_source))
                    if isinstance(verdict, AwaitedOffload):
                        awaited.append(stored)
                saved.append(stored)
            first.append(eqn)
            continue
        # A call or a loop that is not saved as a whole may be split in turn: its first half also
        # returns the residuals that its second half reads.
        rule = saving_rules.get(eqn.primitive)
        saving = None if rule is None else rule(eqn.params, policy, live)
        if eqn.primitive is substitute_p:
            value, substitute = eqn.invars
            first.append(eqn.replace(invars=[value, value]))
            repeated = eqn.replace(invars=[substitute, substitute])
        elif saving is None:
            first.append(eqn)
            repeated = eqn
        else:
            outs = [*eqn.outvars, *map(ir.Var, saving.avals)]
            first.append(eqn.replace(params=saving.first, outvars=outs))
            residuals = [outs[i] for i in saving.saved]
            saved.extend(reversed(residuals))
            if not any(saving.results):
                continue
            effects = eqn.primitive.effects
            repeated = eqn.replace(
                invars=[*compress(eqn.invars, saving.operands), *residuals],
                outvars=list(compress(eqn.outvars, saving.results)),
                params=saving.again,
                effects=ir.no_effects if effects is None else effects(saving.again),
            )
        again.extend(ir.live_equations([repeated], list(compress(eqn.outvars, live))))
        needed.update(again[-1].invars)

    return RematPlan(first[::-1], saved[::-1], again[::-1], awaited)
