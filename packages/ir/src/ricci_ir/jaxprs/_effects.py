"""Side effects of jaxprs, and the places where each kind of them may happen."""

from collections.abc import Iterable
from typing import Any

from ricci_ir.traces._references import uses_references
from ricci_ir.types._references import AbstractRef

__all__ = ["accumulate_effect", "control_flow_allowed_effects"]
__all__ += ["custom_derivatives_allowed_effects", "Effect", "EffectTypeSet", "Effects"]
__all__ += ["inside_effect", "join_effects", "lowerable_effects", "no_effects", "only_droppable"]
__all__ += ["ordered_effects", "program_effects", "read_effect", "ReferenceEffect"]
__all__ += ["remat_allowed_effects", "write_effect"]

Effects = frozenset
no_effects: frozenset[Any] = frozenset()


class Effect:
    """A side effect of an operation, such as printing; an equation with effects is not dead.

    Each kind of effect is a subclass, whose attributes declare where it may happen; by default,
    only in functions that are not compiled.

    Attributes:
      ordered: whether effects happen in program order, also across calls.
      lowerable: whether jaxprs with the effect may be compiled, as by ``jit``.
      in_control_flow: whether it may happen in loops and branches.
      in_custom_derivatives: whether it may happen in the functions given to ``custom_root``.
      in_remat: whether it may happen twice: ``checkpoint`` runs its function again.
      of_references: whether it is a read or write of references.
      droppable: whether an operation that has no other effects is dead if its results are unused.

    Example:
      >>> from ricci.extend.core import Effect
      >>> from ricci_ir import control_flow_allowed_effects, lowerable_effects
      >>> class Sends(Effect):
      ...     lowerable = True
      >>> lowerable_effects.contains(Sends()), control_flow_allowed_effects.contains(Sends())
      (True, False)
    """

    __slots__ = ()
    ordered: bool = False
    lowerable: bool = False
    in_control_flow: bool = False
    in_custom_derivatives: bool = False
    in_remat: bool = False
    of_references: bool = False
    droppable: bool = False


class EffectTypeSet:
    """The kinds of effects that have one of the attributes of ``Effect``.

    Args:
      attribute: the attribute's name.

    Example:
      >>> from ricci.extend.core import Effect
      >>> from ricci_ir import lowerable_effects
      >>> class Receives(Effect): ...
      >>> lowerable_effects.add_type(Receives)
      >>> lowerable_effects.contains(Receives()), Receives.lowerable
      (True, True)
    """

    __slots__ = ("attribute",)

    def __init__(self, attribute: str):
        self.attribute: str = attribute

    def add_type(self, effect_type: type[Effect]) -> None:
        """Add a kind of effects, with its subclasses.

        Raises:
          TypeError: if it is not a subclass of ``Effect``.
        """
        if not (isinstance(effect_type, type) and issubclass(effect_type, Effect)):
            raise TypeError(
                f"add_type takes a subclass of Effect, got {effect_type!r}. Pass the class of the "
                "effect, not an instance."
            )
        setattr(effect_type, self.attribute, True)

    def contains(self, effect: Effect) -> bool:
        """Whether an effect is of one of the kinds."""
        return isinstance(effect, Effect) and getattr(effect, self.attribute)

    def filter_in(self, effects: Iterable[Effect]) -> list[Effect]:
        """The effects that are of one of the kinds."""
        return [effect for effect in effects if self.contains(effect)]

    def filter_not_in(self, effects: Iterable[Effect]) -> list[Effect]:
        """The effects that are of none of the kinds."""
        return [effect for effect in effects if not self.contains(effect)]

    def require(
        self, what: str, effects: Iterable[Effect], error: type[Exception] = NotImplementedError
    ) -> None:
        """Refuse a jaxpr that has effects of other kinds.

        Args:
          what: the operation that is about to use the jaxpr, for the message.
          effects: the jaxpr's effects.
          error: the class of the exception.
        """
        others = self.filter_not_in(effects)
        if others:
            names = ", ".join(sorted(map(str, others)))
            raise error(
                f"{what}: the effects {{{names}}} are not supported here. If the effect may happen "
                f"here, set {self.attribute} = True in its class."
            )

    def __repr__(self) -> str:
        return f"EffectTypeSet({self.attribute!r})"


ordered_effects: EffectTypeSet = EffectTypeSet("ordered")
lowerable_effects: EffectTypeSet = EffectTypeSet("lowerable")
control_flow_allowed_effects: EffectTypeSet = EffectTypeSet("in_control_flow")
custom_derivatives_allowed_effects: EffectTypeSet = EffectTypeSet("in_custom_derivatives")
remat_allowed_effects: EffectTypeSet = EffectTypeSet("in_remat")


def join_effects(effects: Iterable[frozenset[Any]]) -> frozenset[Any]:
    """The union of sets of effects."""
    return no_effects.union(*effects)


class ReferenceEffect(Effect):
    """A read, write or accumulation of references.

    Args:
      name: ``read``, ``write`` or ``accumulate``, or ``inside`` for an operation whose references
        are local to it.
    """

    __slots__ = ("name",)

    lowerable: bool = True
    in_control_flow: bool = True
    in_custom_derivatives: bool = True
    in_remat: bool = True
    of_references: bool = True

    def __init__(self, name: str):
        self.name: str = name

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __reduce__(self) -> Any:
        return type(self), (self.name,)

    def __repr__(self) -> str:
        return f"{self.name.capitalize()}<Ref>"


class _InsideEffect(ReferenceEffect):
    """The effect of an operation whose references are local to it."""

    __slots__ = ()

    droppable: bool = True


read_effect: ReferenceEffect = ReferenceEffect("read")
write_effect: ReferenceEffect = ReferenceEffect("write")
accumulate_effect: ReferenceEffect = ReferenceEffect("accumulate")
inside_effect: ReferenceEffect = _InsideEffect("inside")


def program_effects(effects: Iterable[frozenset[Any]], variables: Iterable[Any]) -> frozenset[Any]:
    """The effects of a jaxpr, given those of its equations.

    Args:
      effects: the effects of each equation.
      variables: the variables of the jaxpr's constants and arguments. If none of them is a
        reference, the jaxpr's references are local to it.
    """
    joined = join_effects(effects)
    if not uses_references(joined) or any(type(v.aval) is AbstractRef for v in variables):
        return joined
    # Reads and writes of local references cannot be seen from outside, so the jaxpr as a whole is
    # dead if its results are unused.
    others = frozenset(e for e in joined if not getattr(e, "of_references", False))
    return others | {inside_effect}


def only_droppable(effects: frozenset[Any]) -> bool:
    """Whether an operation with these effects is dead if its results are unused."""
    return all(getattr(effect, "droppable", False) for effect in effects)
