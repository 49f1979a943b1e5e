"""Side effects of programs, and the places where each kind of them may happen."""

from collections.abc import Iterable
from typing import Any

__all__ = [
    "control_flow_allowed_effects",
    "custom_derivatives_allowed_effects",
    "Effect",
    "EffectTypeSet",
    "Effects",
    "join_effects",
    "lowerable_effects",
    "no_effects",
    "ordered_effects",
    "remat_allowed_effects",
]

Effects = frozenset
no_effects: frozenset[Any] = frozenset()


class Effect:
    """A side effect of a program, such as printing; programs with effects are not dropped.

    Each kind of effect is a subclass, which says where it may happen; unless it says so, it may
    happen only in functions that are not compiled.

    Attributes:
      ordered: whether effects happen in program order, also across calls.
      lowerable: whether programs with the effect are compiled, as ``jit`` does.
      in_control_flow: whether it may happen in loops and branches.
      in_custom_derivatives: whether it may happen in the functions given to ``custom_root``.
      in_remat: whether it may happen twice: ``checkpoint`` runs its function again.

    Example:
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


class EffectTypeSet:
    """The kinds of effects that have one of the attributes of ``Effect``.

    Args:
      attribute: the attribute's name.

    Example:
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
        self,
        what: str,
        effects: Iterable[Effect],
        error: type[Exception] = NotImplementedError,
    ) -> None:
        """Refuse a program that has effects of other kinds.

        Args:
          what: the operation that is about to use the program, for the message.
          effects: the program's effects.
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
