"""RC101 and RC102: random keys, followed from their creation to their uses."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ricci_ir import AbstractValue, JaxprEqn, KeyRole, Source

from ._values import AnalysisState, Symbols, Value, is_tracked, may_hold_keys


class Use(NamedTuple):
    """A use of a key: the name of the function that used it, and its source."""

    what: str
    source: Source


class KeyUse:
    """The uses of keys so far; a second use of a key is reported.

    Attributes:
      used: the first use of each key, by its symbol.
      rerun: the sources that a checkpoint's derivative runs a second time.
      slices: for a key inside a loop's body, the keys outside of the loop that it represents.
      carried: the keys of a body's carry, which represent an outer key in the first iteration only.
      alternative: returns whether two sources are in different branches of a ``cond``,
        so that only one of them runs.
    """

    def __init__(self, state: AnalysisState):
        self.state = state
        self.used: dict[int, Use] = {}
        self.alternative: Callable[[Source, Source], bool] = lambda one, other: False
        self.rerun: frozenset[tuple[Any, ...]] = frozenset()
        self.slices: dict[int, list[int]] = {}
        self.carried: set[int] = set()
        self._collecting: set[int] | None = None
        self._collected: list[int] = []
        self._recomputing = False

    @property
    def symbols(self) -> Symbols:
        """The table of symbols."""
        return self.state.symbols

    @property
    def is_collecting(self) -> bool:
        """Whether a call of one of Ricci's own functions is being read; see ``one_use``."""
        return self._collecting is not None

    # Counting uses

    def use(self, keys: Value, what: str) -> bool:
        """Record that ``what`` uses keys; return whether one of them had been used before."""
        if self._recomputing or not is_tracked(keys.aval):
            return False
        ids = self.symbols.ids(keys).ravel().tolist()
        if self._collecting is not None:
            self._collected += [i for i in ids if self._is_operand(i)]
            return False
        return self._use(ids, what)

    def _is_operand(self, symbol: int) -> bool:
        """Whether a key is an operand of the call that is being read, rather than created in it."""
        operand_keys = self._collecting or ()
        meaning = self.symbols.meanings[symbol]
        return symbol in operand_keys or (meaning[0] == "key" and meaning[2] in operand_keys)

    def _use(self, ids: Sequence[int], what: str) -> bool:
        # One report for the whole array is enough of these two. ``_once`` runs in any case, as it
        # also records the use.
        again = self._in_loop(ids, what) or self._twice_at_once(ids, what)
        for symbol in dict.fromkeys(ids):
            again = self._once(symbol, what) or again
            # A use of a loop's key is a use of every key outside that it represents in some
            # iteration.
            for key in self.slices.get(symbol, ()):
                again = self._once(key, what, symbol in self.carried) or again
        return again

    def _in_loop(self, ids: Sequence[int], what: str) -> bool:
        depth = self.state.depth
        # Depth: the number of loops around the place where a key was made. A key from further out
        # is the same in each iteration.
        fixed = [i for i in ids if self.symbols.depths[i] < depth]
        if fixed:
            name = self.name(fixed[0])
            self.state.report(
                "RC102", f"{what} uses {name}, which is the same in every iteration of the loop"
            )
        return bool(fixed)

    def _twice_at_once(self, ids: Sequence[int], what: str) -> bool:
        (symbol, count), *_ = Counter(ids).most_common(1) or [(0, 0)]
        if count > 1:
            self.state.report("RC101", f"{what} uses {self.name(symbol)} {count} times at once")
        return count > 1

    def _once(self, symbol: int, what: str, carried: bool = False) -> bool:
        source = self.state.source
        earlier = self.used.setdefault(symbol, Use(what, source))
        # An equation may reach one key by several symbols, slices of one array: that is one use. Of
        # two branches only one runs.
        if earlier.source is source or self.alternative(earlier.source, source):
            return False
        if earlier.source[:2] == source[:2] and (carried or source[:2] in self.rerun):
            return False  # a derivative runs the same code a second time
        self.state.report(
            "RC101",
            f"{what} uses {self.name(symbol)}, which {earlier.what} has used in line "
            f"{earlier.source.line}",
        )
        return True

    # Reading in a special mode

    def one_use(self, operands: Sequence[Value], read: Callable[[], list[Value]]) -> list[Value]:
        """Read a call of one of Ricci's own functions; it counts as one use of each operand key.

        Inside, a sampler may split a key and draw from it several times.
        """
        operand_keys = {
            i
            for x in operands
            if may_hold_keys(x.aval)
            for i in self.symbols.ids(x).ravel().tolist()
        }
        self._collecting, self._collected = operand_keys, []
        try:
            results = read()
        finally:
            # One use of each operand, and only now: a sampler's inner splits and draws count as one
            # draw.
            collected, self._collecting = self._collected, None
        if collected:
            self._use(list(dict.fromkeys(collected)), self.state.call_name or "it")
        return results

    @contextmanager
    def recomputing(self) -> Iterator[None]:
        """Ignore uses of keys inside a ``with`` block: a recomputation draws the same numbers."""
        before, self._recomputing = self._recomputing, True
        try:
            yield
        finally:
            self._recomputing = before

    def alternatives(self, reads: Sequence[Callable[[], Any]]) -> list[Any]:
        """Read several jaxprs of which only one runs; their uses of keys do not add up."""
        # Each branch starts from the uses before the cond; those after it are the union, since any
        # branch may have run.
        before, after, results = self.used, {}, []
        for read in reads:
            self.used = dict(before)
            results.append(read())
            after |= self.used
        self.used = after
        return results

    def slice_of(self, xs: Value, aval: AbstractValue) -> Value:
        """Return the slice of ``xs`` in an iteration of a scan; its keys represent all slices."""
        value = self.state.unknown(aval)
        if may_hold_keys(xs.aval):
            # Column j are the symbols that element j of the slice takes, one in each iteration.
            rows = self.symbols.ids(xs).reshape(xs.aval.shape[0], -1)
            ids = self.symbols.ids(value)
            for column, symbol in enumerate(ids.ravel().tolist()):
                self.slices[symbol] = rows[:, column].tolist()
        return value

    def constant(self, keys: Any, aval: Any) -> Value:
        """Return the value of a constant array of keys; each key is identified by its words."""
        rows = np.asarray(keys.physical).reshape(max(aval.size, 1), -1)[: aval.size].tolist()
        impl = aval.dtype._impl.name
        ids = [
            _of_words(self, impl, [self.symbols.of(("number", n), 0) for n in row]) for row in rows
        ]
        return self.symbols.value(aval, ids)

    def carry_of(self, start: Value) -> Value:
        """Return a loop's carry in the body; its keys are those of ``start`` in one iteration."""
        value = self.state.unknown(start.aval)
        if may_hold_keys(start.aval):
            ids = self.symbols.ids(value).ravel().tolist()
            for symbol, first in zip(ids, self.symbols.ids(start).ravel().tolist(), strict=True):
                self.slices[symbol] = [first]
                self.carried.add(symbol)
        return value

    # Names in messages

    def name(self, symbol: int) -> str:
        """Return a key's name in messages, which tells its origin: ``split(key)[0]``."""
        meaning = self.symbols.meanings[symbol]
        match meaning:
            case ("argument", str(name), _):
                return f"the key {name}"
            case ("split", key, _, place):
                return f"split({self._plain(key)})[{place}]"
            case ("fold", key, data):
                number = self.symbols.number(data)
                return f"fold_in({self._plain(key)}, {'…' if number is None else number})"
            case ("seed", _, seed):
                number = self.symbols.number(seed)
                return f"the key of seed {'…' if number is None else number}"
            case ("key", _, *words):
                numbers = [self.symbols.number(i) for i in words]
                return f"the key {numbers}" if None not in numbers else self.name(words[0])
            case ("word", key, _):
                return self.name(key)
        return "a key"

    def _plain(self, symbol: int) -> str:
        return self.name(symbol).removeprefix("the key ")


# The primitives of random keys


def _wrap(keys: KeyUse, eqn: JaxprEqn, words: Value) -> Value:
    symbols, aval = keys.symbols, eqn.outvars[0].aval
    if not (is_tracked(words.aval) and is_tracked(aval)):
        return keys.state.unknown(aval, words.depth)
    rows = symbols.ids(words).reshape(aval.size, -1).tolist()
    return symbols.value(aval, [_of_words(keys, eqn.params["impl"].name, row) for row in rows])


def _of_words(keys: KeyUse, impl: str, words: list[int]) -> int:
    """Return the symbol of the key with these words; wrapping undoes unwrapping."""
    symbols = keys.symbols
    meanings = [symbols.meanings[i] for i in words]
    first = meanings[0]
    # All words of one key, in order: the key itself, whatever its words are.
    if first[0] == "word" and meanings == [("word", first[1], i) for i in range(len(words))]:
        return first[1]
    depth = max(symbols.depths[i] for i in words)
    key = symbols.of(("key", impl, *words), depth)
    # Words of a loop's slice represent words outside: the key represents the keys of those.
    if words[0] in keys.slices and key not in keys.slices:
        columns = zip(*(keys.slices.get(i, ()) for i in words), strict=False)
        keys.slices[key] = [_of_words(keys, impl, list(row)) for row in columns]
        if words[0] in keys.carried:
            keys.carried.add(key)
    return key


def _unwrap(keys: KeyUse, eqn: JaxprEqn, x: Value) -> Value:
    symbols, aval = keys.symbols, eqn.outvars[0].aval
    if not (is_tracked(x.aval) and is_tracked(aval)):
        return keys.state.unknown(aval, x.depth)
    ids = symbols.ids(x).ravel().tolist()
    size = aval.size // max(len(ids), 1)
    return symbols.value(
        aval, [symbols.of(("word", i, j), symbols.depths[i]) for i in ids for j in range(size)]
    )


def _seed(keys: KeyUse, eqn: JaxprEqn, seeds: Value) -> Value:
    symbols, aval = keys.symbols, eqn.outvars[0].aval
    if not (is_tracked(seeds.aval) and is_tracked(aval)):
        return keys.state.unknown(aval, seeds.depth)
    impl = eqn.params["impl"].name
    ids = symbols.ids(seeds).ravel().tolist()
    return symbols.value(aval, [symbols.of(("seed", impl, i), symbols.depths[i]) for i in ids])


def _split(keys: KeyUse, eqn: JaxprEqn, x: Value) -> Value:
    symbols, aval = keys.symbols, eqn.outvars[0].aval
    again = keys.use(x, keys.state.call_name or "split")
    if again or not (is_tracked(x.aval) and is_tracked(aval)):
        return keys.state.unknown(aval)
    shape = eqn.params["shape"]
    count = int(np.prod(shape))
    ids = [
        # Splits of equal keys into equal shapes are the same symbols; a second such split is a
        # reuse, and was reported above.
        symbols.of(("split", i, shape, place), symbols.depths[i])
        for i in symbols.ids(x).ravel().tolist()
        for place in range(count)
    ]
    return symbols.value(aval, ids)


def _fold_in(keys: KeyUse, eqn: JaxprEqn, x: Value, data: Value) -> Value:
    symbols, aval = keys.symbols, eqn.outvars[0].aval
    if not (is_tracked(x.aval) and is_tracked(aval) and is_tracked(data.aval)):
        return keys.state.unknown(aval, max(x.depth, data.depth))
    # One key may be folded with many integers, or many keys with one integer.
    every, integers = np.broadcast_arrays(symbols.ids(x), symbols.ids(data))
    pairs = zip(every.flat, integers.flat, strict=True)
    return symbols.value(
        aval,
        [
            symbols.of(("fold", int(i), int(j)), max(symbols.depths[i], symbols.depths[j]))
            for i, j in pairs
        ],
    )


def _bits(keys: KeyUse, eqn: JaxprEqn, x: Value, *rest: Value) -> Value:
    keys.use(x, keys.state.call_name or eqn.primitive.name.removeprefix("random_"))
    return keys.state.unknown(eqn.outvars[0].aval, x.depth)


def _clone(keys: KeyUse, eqn: JaxprEqn, x: Value) -> Value:
    return keys.state.unknown(eqn.outvars[0].aval)


# For each key role of a primitive, the function that reads its equations.
key_readers: dict[KeyRole, Callable[..., Value]] = {
    KeyRole.CLONE: _clone,
    KeyRole.DRAW: _bits,
    KeyRole.FOLD_IN: _fold_in,
    KeyRole.SEED: _seed,
    KeyRole.SPLIT: _split,
    KeyRole.UNWRAP: _unwrap,
    KeyRole.WRAP: _wrap,
}
