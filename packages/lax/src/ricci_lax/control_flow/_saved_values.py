"""What a policy of ``checkpoint`` saves of a program, and what is computed again."""

from collections.abc import Sequence
from itertools import compress

from ricci_ir import Atom, Jaxpr, JaxprEqn, TupleRecord, Var, live_equations, no_effects
from ricci_lax.checkpoint_policies import Offloadable, Policy, decision, other_memories
from ricci_lax.rules._saving import saving_rules


class SavedValues(TupleRecord):
    """A program as two runs.

    Attributes:
      first: the equations of the first run.
      saved: variables of the first run that the second reads.
      again: the equations of the second run.
    """

    first: list[JaxprEqn]
    saved: list[Var]
    again: list[JaxprEqn]

    def reads(self, outvars: Sequence[Atom]) -> set[Atom]:
        """What the second run reads, with ``outvars`` as its results."""
        return {*outvars, *(atom for eqn in self.again for atom in eqn.invars)}


def saved_values(jaxpr: Jaxpr, policy: Policy | None, outvars: Sequence[Atom]) -> SavedValues:
    """Divide a program by what a policy saves.

    Args:
      jaxpr: the program.
      policy: the policy; ``None`` saves nothing.
      outvars: variables that the second run must give. It has the arguments, and the saved values.

    Equations with effects belong to both runs, unless the policy saves their results.
    """
    if policy is None:
        return SavedValues(jaxpr.eqns, [], live_equations(jaxpr.eqns, outvars))
    needed = set(outvars)
    first: list[JaxprEqn] = []
    again: list[JaxprEqn] = []
    saved: list[Var] = []
    # From the last equation to the first: what a saved value was computed from is not needed then.
    for eqn in reversed(jaxpr.eqns):
        wanted = tuple([v in needed for v in eqn.outvars])
        if not any(wanted) and not eqn.effects:
            first.append(eqn)
            continue
        answer = decision(policy, eqn)
        if answer is not False:
            for var in compress(eqn.outvars, wanted):
                kept = var
                if isinstance(answer, Offloadable) and other_memories.move is not None:
                    kept = Var(var.aval)
                    out = other_memories.move(var, kept, answer.dst)
                    back = other_memories.move(kept, var, answer.src)
                    first.append(out.replace(raw_source=eqn.raw_source))
                    again.append(back.replace(raw_source=eqn.raw_source))
                saved.append(kept)
            first.append(eqn)
            continue
        rule = saving_rules.get(eqn.primitive)
        saving = None if rule is None else rule(eqn.params, policy, wanted)
        if saving is None:
            first.append(eqn)
            repeated = eqn
        else:
            outs = [*eqn.outvars, *map(Var, saving.avals)]
            first.append(eqn.replace(params=saving.first, outvars=outs))
            kept = [outs[i] for i in saving.saved]
            saved.extend(reversed(kept))
            if not any(saving.results):
                continue
            effects = eqn.primitive.effects
            repeated = eqn.replace(
                invars=[*compress(eqn.invars, saving.operands), *kept],
                outvars=list(compress(eqn.outvars, saving.results)),
                params=saving.again,
                effects=no_effects if effects is None else effects(saving.again),
            )
        again.extend(live_equations([repeated], list(compress(eqn.outvars, wanted))))
        needed.update(again[-1].invars)
    return SavedValues(first[::-1], saved[::-1], again[::-1])
