"""The side effects of callbacks."""

from ricci_ir import Effect

__all__ = ["DebugEffect", "OrderedDebugEffect"]


class AllowedEffect(Effect):
    """An effect that may happen everywhere, also twice."""

    __slots__ = ()
    lowerable = True
    in_control_flow = True
    in_custom_derivatives = True
    in_remat = True


class DebugEffect(AllowedEffect):
    """Debugging output, in no particular order."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "Debug"


class OrderedDebugEffect(AllowedEffect):
    """Debugging output, in program order."""

    __slots__ = ()
    ordered = True

    def __repr__(self) -> str:
        return "OrderedDebug"


class IOEffect(Effect):
    """Input and output, in no particular order; it must not happen twice."""

    __slots__ = ()
    lowerable = True
    in_control_flow = True

    def __repr__(self) -> str:
        return "IO"


class OrderedIOEffect(Effect):
    """Input and output, in program order; it must not happen twice."""

    __slots__ = ()
    lowerable = True
    in_control_flow = True
    ordered = True

    def __repr__(self) -> str:
        return "OrderedIO"


debug_effect, ordered_debug_effect = DebugEffect(), OrderedDebugEffect()
io_effect, ordered_io_effect = IOEffect(), OrderedIOEffect()

# Effects that must not happen twice, nor for examples or branches whose results are not selected.
io_effects = frozenset({io_effect, ordered_io_effect})

# Sets of one effect each, shared.
debug_set = {False: frozenset({debug_effect}), True: frozenset({ordered_debug_effect})}
io_set = {False: frozenset({io_effect}), True: frozenset({ordered_io_effect})}
