"""Host callbacks on TPUs: operands are sent to the host, and results received from it."""

from collections.abc import Callable, Sequence

import numpy as np

from ricci_ir import AbstractToken, AbstractValue, ArrayLike, ShapedArray, abstract_token

from ._lowering import Lowering
from ._placed_calls import on_one_device, physical, replicated
from ._values import HostCallback, Value

__all__ = ["host_transfers"]

# The kinds of channels, from a device to the host and back.
_TO_HOST, _FROM_HOST = 2, 3
# Channel 1 is that of collectives.
_FIRST_CHANNEL = 2


def host_transfers(
    ctx: Lowering,
    fun: Callable[..., Sequence[ArrayLike]],
    operands: Sequence[Value],
    outs: Sequence[AbstractValue],
    *,
    partitioned: bool = False,
    device: int = 0,
) -> list[Value]:
    """Write a call of a Python function by ``send`` and ``recv``, in the order of one token.

    The host runs the function once it has all operands, so that at least one is sent; a result is
    always awaited, even of a function that has none. Results without elements are constants.

    Args:
      ctx, fun, operands, outs, partitioned, device: see ``host_call``.

    Raises:
      NotImplementedError: if each device is to call the function, outside of a ``shard_map``.

    Source: the StableHLO operations ``send`` and ``recv``, with the frontend attributes
    ``_xla_host_transfer_handler_name`` and ``_xla_host_transfer_rendezvous`` of XLA.
    """
    module = ctx.module
    if partitioned and not module.manual and module.num_partitions > 1:
        raise NotImplementedError(
            "Callbacks that each device calls with its shard (partitioned=True) are supported on "
            "TPUs only in shard_map. Call the function in shard_map, or leave partitioned out."
        )
    on_device = module.num_partitions > 1 and not module.manual
    tokens = [x for x in operands if isinstance(x.aval, AbstractToken)]
    token = tokens[0] if tokens else ctx.create_token()
    sent = [x for x in operands if not isinstance(x.aval, AbstractToken)]
    results = [physical(aval) for aval in outs if not isinstance(aval, AbstractToken)]
    received = [aval for aval in results if not _is_empty(aval)]
    if not sent:
        sent = [ctx.constant(np.zeros(1, np.float32))]
        fun = _without_operand(fun)
    if not results:
        received = [ShapedArray((), np.dtype(np.float32))]
    channels: list[int] = []

    def transfer(op: str, kind: int, operands: list[Value], outs: list[AbstractValue]) -> Value:
        channel = _FIRST_CHANNEL + module.host_channels
        module.host_channels += 1
        channels.append(channel)
        *values, following = ctx.generic(
            f"stablehlo.{op}",
            operands,
            [*outs, abstract_token],
            f"channel_handle = #stablehlo.channel_handle<handle = {channel}, type = {kind}>, "
            "is_host_transfer = true",
            annotations=on_one_device(ctx, [*outs, abstract_token], device) if on_device else "",
            metadata=(
                ("_xla_host_transfer_handler_name", "pjrt_rendezvous"),
                ("_xla_host_transfer_rendezvous", str(channel)),
            ),
        )
        arrived.extend(values)
        return following

    arrived: list[Value] = []
    for x in sent:
        token = transfer("send", _TO_HOST, [x, token], [])
    for aval in received:
        token = transfer("recv", _FROM_HOST, [token], [aval])
    ends = tuple(channels[: len(sent)]), tuple(channels[len(sent) :])
    in_avals = tuple(physical(x.aval) for x in sent)
    module.host_callbacks.append(
        HostCallback(_received_of(fun, results), in_avals, tuple(received), ends)
    )
    if on_device:
        arrived = [replicated(ctx, x) for x in arrived]
    values = iter(arrived)
    return [
        token
        if isinstance(aval, AbstractToken)
        else _without_elements(ctx, aval)
        if _is_empty(aval)
        else next(values)
        for aval in outs
    ]


def _is_empty(aval: AbstractValue) -> bool:
    physical_aval = physical(aval)
    return isinstance(physical_aval, ShapedArray) and physical_aval.size == 0


def _without_elements(ctx: Lowering, aval: AbstractValue) -> Value:
    """Write the constant of an empty array."""
    physical_aval = physical(aval)
    assert isinstance(physical_aval, ShapedArray)
    return ctx.constant(np.zeros(physical_aval.shape, physical_aval.dtype), physical_aval)


def _without_operand(fun: Callable[..., Sequence[ArrayLike]]) -> Callable[..., Sequence[ArrayLike]]:
    """Return the function of an operand that only starts it."""
    return lambda _: fun()


def _received_of(
    fun: Callable[..., Sequence[ArrayLike]], results: Sequence[AbstractValue]
) -> Callable[..., Sequence[ArrayLike]]:
    """Return the function with the results that are received: a number if it has none."""

    def call(*operands: ArrayLike) -> Sequence[ArrayLike]:
        values = fun(*operands)
        if not results:
            return [np.float32(0)]
        return [x for x in values if np.size(x)]

    return call
