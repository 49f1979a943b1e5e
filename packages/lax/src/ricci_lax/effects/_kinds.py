"""The side effects of callbacks."""

from ricci_ir import Effect

__all__ = [
    "DebugEffect",
    "OrderedDebugEffect",
]


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
    """Debugging output, in the order of the program."""

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
    """Input and output, in the order of the program; it must not happen twice."""

    __slots__ = ()
    lowerable = True
    in_control_flow = True
    ordered = True

    def __repr__(self) -> str:
        return "OrderedIO"


debug_effect, ordered_debug_effect = DebugEffect(), OrderedDebugEffect()
io_effect, ordered_io_effect = IOEffect(), OrderedIOEffect()

# Effects that must not happen for examples or branches whose results are not chosen, and not twice.
io_effects = frozenset({io_effect, ordered_io_effect})

# The sets of one effect each, made once.
debug_set = {False: frozenset({debug_effect}), True: frozenset({ordered_debug_effect})}
io_set = {False: frozenset({io_effect}), True: frozenset({ordered_io_effect})}
