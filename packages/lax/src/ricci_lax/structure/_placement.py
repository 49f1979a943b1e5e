"""Arrays that are made where a user, or an array like them, says."""

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from ricci_ir import (
    Array,
    Primitive,
    Shape,
    ShapeDtypeStruct,
    Tracer,
    argument_aval,
    context,
    eval_trace,
    lenient_sharding,
    sharding_forms,
)

from ._operand_types import array_aval


class Placement:
    """How arrays get to a place that is asked for; the package that has devices registers it."""

    __slots__ = ("checked", "constrain", "create", "put")

    constrain: Callable[[Any, Any], Array]
    create: Callable[[Any, Any], Array]
    put: Callable[[Any, Any], Array]
    checked: Callable[[Any], Any]

    def __init__(self) -> None:
        self.constrain = self.create = self.put = lambda x, place: _no_placement(place)
        self.checked = _no_placement

    def register(
        self,
        *,
        constrain: Callable[[Any, Any], Array],
        create: Callable[[Any, Any], Array],
        put: Callable[[Any, Any], Array],
        checked: Callable[[Any], Any],
    ) -> None:
        """Set what is done with a place, which is a device or a sharding.

        Args:
          constrain: ``constrain(x, place)`` says where a value is; one that is committed to other
            devices is refused.
          create: ``create(x, place)`` puts a new array there, whatever it was made of.
          put: ``put(x, place)`` is the user's ``device_put``.
          checked: ``checked(out_sharding)`` is the sharding that a user's argument
            ``out_sharding`` means; it raises where that is none.
        """
        self.constrain = constrain
        self.create = create
        self.put = put
        self.checked = checked

    def as_asked(self, x: Array, out_sharding: object) -> Array:
        """``x`` with the sharding that a user asked for by ``out_sharding``, if it was given."""
        return x if out_sharding is None else self.constrain(x, self.checked(out_sharding))


def _no_placement(sharding: object) -> NoReturn:
    raise NotImplementedError(
        f"an array was asked for with sharding {sharding}, but nothing that places arrays on "
        "devices is installed. Import ricci_xla, or leave the sharding out."
    )


placement: Placement = Placement()


def bind_divided(
    primitive: Primitive,
    operands: Sequence[Any],
    rank: int,
    sharding: object,
    params: dict[str, Any],
    name: str = "sharding",
) -> Array:
    """Apply a primitive that takes the sharding of its result, where types can say it.

    Args:
      primitive, operands, params: the operation.
      rank: the rank of the result.
      sharding: the result's sharding.
      name: the primitive's parameter for it.
    """
    typed = sharding_forms.read(rank, sharding)
    if typed is not None and typed.unreduced and name == "sharding":
        own = [array_aval(x).type_sharding for x in operands]
        if not any(known is not None and known.unreduced for known in own):
            # The devices' terms add up to the value, which is not itself a term of all.
            filled = primitive.bind(*operands, **params, **{name: typed.update(unreduced=())})
            return placement.constrain(filled, sharding)
    if typed is not None:
        return primitive.bind(*operands, **params, **{name: typed})
    with lenient_sharding(True):
        result = primitive.bind(*operands, **params, **{name: None})
    return placement.constrain(result, sharding)


def bind_placed(
    primitive: Primitive,
    operands: Sequence[Any],
    rank: int,
    out_sharding: object,
    params: dict[str, Any],
    name: str = "sharding",
) -> Array:
    """``bind_divided`` with what a user asked for by ``out_sharding``."""
    return bind_divided(primitive, operands, rank, placement.checked(out_sharding), params, name)


def place_of(x: object, shape: Shape) -> Any:
    """Where an array of a shape goes that is made like ``x``, if ``x`` says so.

    It does if it was put somewhere and has that shape or is on one device, or describes an array
    with a sharding.
    """
    if context.trace is not eval_trace or isinstance(x, Tracer):
        described = isinstance(x, ShapeDtypeStruct)
        aval: Any = argument_aval(x) if described else getattr(x, "aval", None)
        if aval is None or aval.type_sharding is None or aval.shape != shape:
            return None
        return aval.sharding if aval.type_sharding.is_divided else None
    if not getattr(x, "committed", True):
        return None
    where: Any = getattr(x, "sharding", None)
    if where is None or np.shape(x) == shape:  # pyright: ignore
        return where
    devices = tuple(getattr(where, "device_set", ()))
    if len(devices) != 1:
        return None
    return where if len(getattr(where, "spec", ())) <= len(shape) else devices[0]
