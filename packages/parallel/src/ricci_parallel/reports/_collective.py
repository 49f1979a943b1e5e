"""A collective of an executable: its costs, and the line of the user's code that owns it."""

from collections.abc import Hashable
from dataclasses import dataclass

__all__ = ["Collective"]

# The bytes that a collective sends from each device, in parts of its operand, for groups of n
# devices, by the algorithms that are best for large arrays, rings among them.
SENT = {
    "all-gather": lambda n: n - 1,
    "all-reduce": lambda n: 2 * (n - 1) / n,
    "reduce-scatter": lambda n: (n - 1) / n,
    "all-to-all": lambda n: (n - 1) / n,
    "ragged-all-to-all": lambda n: (n - 1) / n,
    "collective-permute": lambda n: 1,
    "collective-broadcast": lambda n: 1,
}
# The collectives that only move data. Unless the user wrote one, it is there since an array is
# needed in another sharding.
MOVES = frozenset(SENT) - {"all-reduce", "reduce-scatter"}


@dataclass(frozen=True, slots=True)
class Collective:
    """A collective that XLA added to a module, or its part that is due to one line.

    Attributes:
      kind: ``"all-reduce"``, ``"all-gather"``, ``"reduce-scatter"``, ``"all-to-all"``,
        ``"collective-permute"``, ``"collective-broadcast"`` or ``"ragged-all-to-all"``.
      axes: the names of the mesh axes that it goes over; ``None`` if no axes of a mesh of the
        program give its groups of devices.
      group_size: the number of devices that take part together.
      bytes: the bytes that each device sends in a step, at least; see ``SENT``. All iterations
        count, if their number is known, else one.
      times: the number of runs in a step; ``None`` if that is known only at run time.
      shape: the contribution of each device, such as ``"f32[16,64]"``.
      reason: ``"written"`` if it is a collective of the user's; ``"requested"`` if the user
        specifies the array's sharding (a constraint, ``out_shardings``); ``"computed"`` if it
        combines the devices' parts of a result; ``"involuntary"`` if the compiler moves an array
        only because it needs it in another sharding.
      replicates: whether every device has the whole array afterwards.
      value: the moved or combined value: an argument's name, or the primitive that computed it.
      operation: the primitive that needs it.
      file, line, column, function: the place in the user's code; ``""`` and 0 if unknown.
      instruction: its name in the HLO module. Several rows have the same if the compiler
        merged collectives of several lines into one.
    """

    kind: str
    axes: tuple[Hashable, ...] | None
    group_size: int
    bytes: int
    times: int | None
    shape: str
    reason: str
    replicates: bool
    value: str
    operation: str
    file: str
    line: int
    column: int
    function: str
    instruction: str

    @property
    def axes_text(self) -> str:
        """The axes with commas, or the size of the groups if they follow no axes."""
        if self.axes is None:
            return f"groups of {self.group_size}"
        return ", ".join(map(str, self.axes)) or "-"

    @property
    def bytes_text(self) -> str:
        """The bytes that each device sends in a step, in a unit that leaves at most four digits."""
        return shown_bytes(self.bytes)

    @property
    def explanation(self) -> str:
        """The reason for the collective, in words."""
        match self.reason:
            case "written":
                return "written by you"
            case "requested":
                return f"requested for {self.value}"
            case "computed":
                return "combines partial results"
        whole = "whole" if self.replicates else "in another sharding"
        computed_there = self.value == f"the result of {self.operation}"
        what = (
            f"{self.operation} needs its operand" if computed_there else f"{self.value} is needed"
        )
        return f"involuntary: {what} {whole}"


def shown_bytes(count: int) -> str:
    """Format a number of bytes in a unit that leaves at most four digits.

    Example:
      >>> from ricci_parallel.reports._collective import shown_bytes
      >>> shown_bytes(640), shown_bytes(1_310_720), shown_bytes(0)
      ('640 B', '1.3 MB', '0 B')
    """
    amount, unit = float(count), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if amount < 1000:
            break
        amount, unit = amount / 1000, larger
    return f"{amount:.1f} {unit}" if unit != "B" else f"{count} B"
