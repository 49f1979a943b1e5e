"""Disagreements that are accepted: on purpose, or until something that is still missing is there.

The whole run fails where a row covers nothing any more.
"""

from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True, slots=True)
class Row:
    """Disagreements with one reason.

    Attributes:
        name: a pattern of programs' names, `topic: title`, as in `fnmatch`.
        aspect: what differs, as in `agreement.differences`; `*` stands for any.
        mentions: what the difference says.
        reason: why it is accepted.
    """

    name: str
    aspect: str
    mentions: str
    reason: str

    def covers(self, name: str, aspect: str, text: str) -> bool:
        return (
            fnmatchcase(name, self.name) and self.aspect in ("*", aspect) and self.mentions in text
        )


_FIRST = "found before anything is put on the devices"

ON_PURPOSE: tuple[Row, ...] = (
    Row("*", "place", "_pmap_axis", "the axis of pmap that has no name is called otherwise"),
    Row("*jax.pmap(lambda a, b: a)(X, U)", "error", "the mapped axes must have", _FIRST),
    Row("*vmap(lambda a: lax.ppermute(a*", "error", "doesn't match", "it may leave examples out"),
    Row('*psum(a, "x", axis_index_groups=*', "error", "NotImplementedError", "such sums vary"),
    Row("*lax.pbroadcast(*", "error", "pbroadcast", "it is there on CPUs, too"),
    Row("*lax.pbroadcast(b*", "error", "full must be", "its derivative is there"),
    Row("*lax.ragged_all_to_all(*", "error", "UNIMPLEMENTED", "it is there on CPUs, too"),
    Row("*lax.pmax(b*", "error", "a result and not", "extremes over members have derivatives"),
    Row('*lax.psum(r, "i"), axis_name=*', "error", "a result and not", "batches may have names"),
    Row("collectives: gradients: *invarying*", "types", "bool", "positions are not wrapped around"),
    Row('*lax.axis_index("i") * r, *', "types", "{V:x}", "it is not broadcast before"),
    Row("members: batches on*scatter*", "error", "IndexError", "scalars are left for each example"),
    Row("bad_input: *lax.ppermute(X,*", "error", "NameError", "the axis is what is missing"),
    Row("bad_input: *lax.ppermute(a,*", "error", "types: ValueError", "found while it is traced"),
    Row('bad_input: *psum(a, "j")*', "error", "NameError", "the axis is what is missing"),
    Row('bad_input: *lax.pcast(X, "x", *', "error", "pcast", "JAX gives one of two errors"),
    Row("members: *pshuffle(a, *0, 1?)*", "error", "permutation", "it says where all values go"),
)

# Topics that are not compared as long as what they are about is being written.
PENDING: tuple[Row, ...] = (
    Row("functions: *", "*", "", "types do not carry shardings yet"),
    Row("explicit: *", "*", "", "types do not carry shardings yet"),
    Row("shard_map: *", "*", "", "shard_map is still missing"),
    Row("pmap: *smap*", "*", "", "smap is still missing"),
    Row("bad_input: *", "*", "", "what must be refused is still missing"),
    Row("jit: *", "*", "", "the current mesh is still missing"),
)


def reason(name: str, aspect: str, text: str) -> Row | None:
    """Return the row that accepts a difference, or None."""
    rows = (*ON_PURPOSE, *PENDING)
    return next((row for row in rows if row.covers(name, aspect, text)), None)
