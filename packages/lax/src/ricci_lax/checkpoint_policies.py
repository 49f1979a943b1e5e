"""Policies of ``checkpoint``: which residuals may be stored for the backward pass.

A policy is called as ``policy(primitive, *types, **params)``, with the types of an operation's
operands, and returns whether its results may be stored: a bool, ``Saveable``, ``Recompute`` or an
``Offloadable``.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ricci_ir import AbstractValue, JaxprEqn, Primitive, Record
from ricci_lax.contractions import conv_general_dilated_p, dot_general_p
from ricci_lax.structure._names import KeptName


class _Decision:
    """A decision of a policy, by name."""

    __slots__ = ("name",)

    def __init__(self, name: str):
        self.name: str = name

    def __repr__(self) -> str:
        return self.name


Saveable: _Decision = _Decision("Saveable")
Recompute: _Decision = _Decision("Recompute")


class Offloadable(Record):
    """A decision to store a value in another memory: ``dst``, moved from ``src``.

    Example:
      >>> from ricci.ad_checkpoint import Offloadable
      >>> Offloadable(src="device", dst="pinned_host").dst
      'pinned_host'
    """

    src: str
    dst: str


class AwaitedOffload(Offloadable):
    """An ``Offloadable``, for whose move the results of the checkpoint wait.

    Without waiting, compilers may move a value when it is read: until then it is on the device.
    """


type Decision = _Decision | Offloadable
"""A policy's result, other than a bool."""

type Policy = Callable[..., bool | Decision]
"""A policy of ``checkpoint``."""


def decision(policy: Policy, eqn: JaxprEqn) -> bool | Offloadable:
    """Whether a policy lets the results of an equation be stored, and where."""
    # A name that is always kept, whatever the policy would return.
    if type(eqn.params.get("name")) is KeptName:
        return True
    return _decision(policy, eqn.primitive, [atom.aval for atom in eqn.invars], eqn.params)


def saves(
    policy: Policy, primitive: Primitive, avals: Sequence[AbstractValue], params: dict[str, Any]
) -> bool:
    """Whether a policy lets the results of an operation be stored, in any memory."""
    return _decision(policy, primitive, avals, params) is not False


def _decision(
    policy: Policy, primitive: Primitive, avals: Sequence[AbstractValue], params: dict[str, Any]
) -> bool | Offloadable:
    """Call a policy, and check its result.

    Raises:
      TypeError: if the result is not a decision.
    """
    verdict = policy(primitive, *avals, **params)
    if isinstance(verdict, bool | Offloadable):
        return verdict
    if verdict is Saveable or verdict is Recompute:
        return verdict is Saveable
    raise TypeError(
        f"the checkpoint policy {policy} returned {verdict!r} for {primitive}. Return a bool, "
        "Saveable, Recompute, or an Offloadable."
    )


def everything_saveable(*_: Primitive | AbstractValue, **__: object) -> bool:
    """Save everything, as without ``checkpoint``.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> policy = ricci.checkpoint_policies.everything_saveable
      >>> float(ricci.grad(ricci.checkpoint(lambda x: x**3, policy=policy))(2.0))
      12.0
    """
    return True


def nothing_saveable(*_: Primitive | AbstractValue, **__: object) -> bool:
    """Save only the arguments; the default of ``checkpoint``.

    Example:
      >>> import ricci
      >>> policy = ricci.checkpoint_policies.nothing_saveable
      >>> float(ricci.grad(ricci.checkpoint(lambda x: x**3, policy=policy))(2.0))
      12.0
    """
    return False


class DotsSaveable(Record):
    """Save the results of matrix products and convolutions.

    Attributes:
      only_if_no_batch_dims: of products, only those without batch dimensions.
    """

    only_if_no_batch_dims: bool = False

    def __call__(self, prim: Primitive, *args: AbstractValue, **params: object) -> bool:
        if prim is conv_general_dilated_p:
            return not self.only_if_no_batch_dims
        return prim is dot_general_p and not (self.only_if_no_batch_dims and _batched(params))


def _batched(params: dict[str, Any]) -> bool:
    (_, _), (lhs_batch, rhs_batch) = params["dimension_numbers"]
    return bool(lhs_batch or rhs_batch)


dots_saveable: DotsSaveable = DotsSaveable()
checkpoint_dots: DotsSaveable = dots_saveable
dots_with_no_batch_dims_saveable: DotsSaveable = DotsSaveable(True)
checkpoint_dots_with_no_batch_dims: DotsSaveable = dots_with_no_batch_dims_saveable


class OffloadDotWithNoBatchDims(Record):
    """Save the results of matrix products without batch dimensions in another memory."""

    offload_src: str
    offload_dst: str

    def __call__(self, primitive: Primitive, *_: AbstractValue, **params: object) -> Decision:
        if primitive is dot_general_p and not _batched(params):
            return Offloadable(self.offload_src, self.offload_dst)
        return Recompute


def offload_dot_with_no_batch_dims(offload_src: str, offload_dst: str) -> Policy:
    """A policy that saves matrix products without batch dimensions in another memory.

    Args:
      offload_src: the memory in which the products are computed, such as ``"device"``.
      offload_dst: the memory in which they are kept, such as ``"pinned_host"``.

    Returns:
      The policy.

    Example:
      >>> import ricci
      >>> policies = ricci.checkpoint_policies
      >>> policy = policies.offload_dot_with_no_batch_dims("device", "pinned_host")
      >>> block = ricci.checkpoint(lambda w, x: x @ w, policy=policy)
    """
    return OffloadDotWithNoBatchDims(offload_src, offload_dst)


class SaveOnlyTheseNames(Record):
    """Save only values with one of these names (of ``checkpoint_name``)."""

    saveable_names: frozenset[str]

    def __call__(self, primitive: Primitive, *_: AbstractValue, **params: object) -> bool:
        return primitive.name == "name" and params["name"] in self.saveable_names


class SaveAnyNamesButThese(Record):
    """Save named values (of ``checkpoint_name``), except those with these names."""

    names: frozenset[str]

    def __call__(self, primitive: Primitive, *_: AbstractValue, **params: object) -> bool:
        return primitive.name == "name" and params["name"] not in self.names


class SaveAnythingExceptTheseNames(Record):
    """Save everything except values with one of these names (of ``checkpoint_name``)."""

    names: frozenset[str]

    def __call__(self, primitive: Primitive, *_: AbstractValue, **params: object) -> bool:
        return not (primitive.name == "name" and params["name"] in self.names)


class SaveAndOffloadOnlyTheseNames(Record):
    """Save values of some names, and values of other names in another memory."""

    names_which_can_be_saved: frozenset[str]
    names_which_can_be_offloaded: frozenset[str]
    offload_src: str
    offload_dst: str

    def __call__(self, primitive: Primitive, *_: AbstractValue, **params: object) -> Decision:
        if primitive.name != "name":
            return Recompute
        if params["name"] in self.names_which_can_be_saved:
            return Saveable
        if params["name"] in self.names_which_can_be_offloaded:
            return Offloadable(self.offload_src, self.offload_dst)
        return Recompute


class SaveFromBothPolicies(Record):
    """Save the values that either of two policies saves."""

    first: Policy
    second: Policy

    def __call__(
        self, primitive: Primitive, *avals: AbstractValue, **params: object
    ) -> bool | Offloadable:
        verdict = _decision(self.first, primitive, avals, params)
        # An ``Offloadable`` counts as true, so that the first policy's place for a value wins.
        return verdict or _decision(self.second, primitive, avals, params)


class SaveInPlace(Record):
    """Save the values that another policy saves, without moving them."""

    policy: Policy

    def __call__(self, primitive: Primitive, *avals: AbstractValue, **params: object) -> bool:
        # Offloaded values are saved as well, and stay where they are.
        return _decision(self.policy, primitive, avals, params) is not False


def save_only_these_names(*names_which_can_be_saved: str) -> Policy:
    """A policy that saves only values of these names.

    Args:
      names_which_can_be_saved: names that ``checkpoint_name`` gives values.

    Returns:
      The policy.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci.ad_checkpoint import checkpoint_name, print_saved_residuals
      >>> def f(x):
      ...     y = checkpoint_name(jnp.sin(x), "first")
      ...     return jnp.sin(checkpoint_name(jnp.sin(y), "second"))
      >>> policy = ricci.checkpoint_policies.save_only_these_names("first")
      >>> print_saved_residuals(ricci.checkpoint(f, policy=policy), 1.0)
      f32[] from the argument x
      f32[] named 'first' from ...
    """
    return SaveOnlyTheseNames(frozenset(names_which_can_be_saved))


def save_any_names_but_these(*names_not_to_save: str) -> Policy:
    """A policy that saves named values, except those with these names.

    Args:
      names_not_to_save: names that ``checkpoint_name`` gives values.

    Returns:
      The policy.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci.ad_checkpoint import checkpoint_name, print_saved_residuals
      >>> def f(x):
      ...     y = checkpoint_name(jnp.sin(x), "first")
      ...     return jnp.sin(checkpoint_name(jnp.sin(y), "second"))
      >>> policy = ricci.checkpoint_policies.save_any_names_but_these("first")
      >>> print_saved_residuals(ricci.checkpoint(f, policy=policy), 1.0)
      f32[] from the argument x
      f32[] named 'second' from ...
    """
    return SaveAnyNamesButThese(frozenset(names_not_to_save))


def save_anything_except_these_names(*names_not_to_save: str) -> Policy:
    """A policy that saves everything except values of these names.

    Args:
      names_not_to_save: names that ``checkpoint_name`` gives values.

    Returns:
      The policy.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci.ad_checkpoint import checkpoint_name
      >>> policy = ricci.checkpoint_policies.save_anything_except_these_names("large")
      >>> f = ricci.checkpoint(lambda x: jnp.sin(checkpoint_name(x * x, "large")), policy=policy)
      >>> round(float(ricci.grad(f)(1.0)), 4)
      1.0806
    """
    return SaveAnythingExceptTheseNames(frozenset(names_not_to_save))


def save_from_both_policies(policy_1: Policy, policy_2: Policy) -> Policy:
    """A policy that saves the values that either of two policies saves.

    Args:
      policy_1, policy_2: the policies.

    Returns:
      The policy.

    Example:
      >>> import ricci
      >>> policies = ricci.checkpoint_policies
      >>> policy = policies.save_from_both_policies(
      ...     policies.dots_saveable, policies.save_only_these_names("norm")
      ... )
    """
    return SaveFromBothPolicies(policy_1, policy_2)


def save_and_offload_only_these_names(
    *,
    names_which_can_be_saved: Iterable[str],
    names_which_can_be_offloaded: Iterable[str],
    offload_src: str,
    offload_dst: str,
) -> Policy:
    """A policy that saves values of some names, and those of others in another memory.

    Args:
      names_which_can_be_saved: names of values that are saved where they are.
      names_which_can_be_offloaded: names of values that are saved in another memory.
      offload_src: the memory in which these are computed, such as ``"device"``.
      offload_dst: the memory in which they are kept, such as ``"pinned_host"``.

    Returns:
      The policy.

    Raises:
      ValueError: if a name is in both.

    Example:
      >>> import ricci
      >>> policy = ricci.checkpoint_policies.save_and_offload_only_these_names(
      ...     names_which_can_be_saved=["norm"],
      ...     names_which_can_be_offloaded=["activation"],
      ...     offload_src="device",
      ...     offload_dst="pinned_host",
      ... )
    """
    saved, offloaded = (
        frozenset(names) for names in (names_which_can_be_saved, names_which_can_be_offloaded)
    )
    both = saved & offloaded
    if both:
        raise ValueError(
            f"save_and_offload_only_these_names: {sorted(both)} are to be saved and offloaded; "
            "name each once."
        )
    return SaveAndOffloadOnlyTheseNames(saved, offloaded, offload_src, offload_dst)


__all__ = ["DotsSaveable", "Offloadable", "Recompute", "SaveAndOffloadOnlyTheseNames"]
__all__ += ["SaveAnyNamesButThese", "SaveAnythingExceptTheseNames", "SaveFromBothPolicies"]
__all__ += ["SaveOnlyTheseNames", "Saveable", "checkpoint_dots"]
__all__ += ["checkpoint_dots_with_no_batch_dims", "dots_saveable"]
__all__ += ["dots_with_no_batch_dims_saveable", "everything_saveable", "nothing_saveable"]
__all__ += ["offload_dot_with_no_batch_dims", "save_and_offload_only_these_names"]
__all__ += ["save_any_names_but_these", "save_anything_except_these_names"]
__all__ += ["save_from_both_policies", "save_only_these_names"]
