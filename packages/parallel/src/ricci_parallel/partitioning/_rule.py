"""Sharding rules: factors that dimensions of an operation's operands and results share."""

import re
from collections.abc import Iterator, Sequence
from math import prod

__all__ = ["BATCHING", "ArrayMapping", "CompoundFactor", "SdyShardingRule"]

# The factor for any number of leading dimensions. A name may follow it.
BATCHING = "…"


class CompoundFactor(tuple[str, ...]):
    """A dimension that several factors make up, major to minor, as after a reshape.

    Args:
      *factors: the names of at least two factors.

    Raises:
      ValueError: if there are fewer, or one is not a factor's name.

    Example:
      >>> from ricci.experimental.custom_partitioning import CompoundFactor
      >>> CompoundFactor("heads", "size")
      ('heads', 'size')
    """

    __slots__ = ()

    def __new__(cls, *factors: str) -> "CompoundFactor":
        if len(factors) < 2:
            raise ValueError(
                f"CompoundFactor needs at least two factors, got {factors}. A dimension of one "
                "factor is its name."
            )
        for factor in factors:
            _check_name("CompoundFactor", factor)
        return super().__new__(cls, factors)


# The factors of one dimension.
type Factor = str | CompoundFactor


class ArrayMapping(tuple[Factor, ...]):
    """The dimensions of an array as factors.

    Args:
      *dim_mappings: for each dimension the name of its factor, or a ``CompoundFactor``; the first
        may be ``BATCHING``, for any number of leading dimensions, with a name behind it if there
        are several such groups.

    Raises:
      ValueError: if one of them is something else.

    Example:
      >>> from ricci.experimental.custom_partitioning import ArrayMapping, CompoundFactor
      >>> from ricci_parallel.partitioning import BATCHING
      >>> ArrayMapping(BATCHING, "rows", CompoundFactor("heads", "size"))
      ('…', 'rows', ('heads', 'size'))
    """

    __slots__ = ()

    def __new__(cls, *dim_mappings: Factor) -> "ArrayMapping":
        for i, factor in enumerate(dim_mappings):
            if isinstance(factor, CompoundFactor):
                continue
            if isinstance(factor, str) and factor.startswith(BATCHING):
                if i:
                    raise ValueError(
                        f"ArrayMapping{dim_mappings}: BATCHING ({BATCHING!r}, '...' in a rule's "
                        "text) is for leading dimensions, so that it can only be first."
                    )
                group = factor.removeprefix(BATCHING)
                if group and not group[0].isalnum():
                    raise ValueError(
                        "ArrayMapping: the name of a group of leading dimensions begins with a "
                        f"letter or a digit, got {factor!r}."
                    )
                _check_words("ArrayMapping", group)
            else:
                _check_name("ArrayMapping", factor)
        return super().__new__(cls, dim_mappings)

    @property
    def batching(self) -> str | None:
        """The group of leading dimensions, if it has one."""
        first = self[0] if self else None
        return first if isinstance(first, str) and first.startswith(BATCHING) else None

    def factors(self) -> Iterator[str]:
        """Yield the names of all factors, without the leading dimensions."""
        for factor in self:
            if isinstance(factor, CompoundFactor):
                yield from factor
            elif not factor.startswith(BATCHING):
                yield factor


def _check_name(what: str, factor: object) -> None:
    if not isinstance(factor, str):
        raise ValueError(
            f"{what}: a factor is a name, such as 'i', got {factor!r} of type "
            f"{type(factor).__name__}."
        )
    if not factor[:1].isalpha():
        raise ValueError(f"{what}: the name of a factor begins with a letter, got {factor!r}.")
    _check_words(what, factor)


def _check_words(what: str, name: str) -> None:
    if not all(character.isalnum() or character == "_" for character in name):
        raise ValueError(
            f"{what}: a factor's name is made of letters, digits and underscores, got {name!r}."
        )


_TOKEN = re.compile(r"\s*(\.\.\.\w*|[()]|\w+|\S)")
_LETTERS = "ijklmnopqrstuvwxyz"

type Shape = tuple[int, ...]


class SdyShardingRule:
    """A sharding rule: dimensions of operands and results that share a factor are sharded alike.

    A factor is a name; the dimensions that share it are sharded over the same mesh axes.

    Args:
      operand_mappings, result_mappings: an ``ArrayMapping`` for each operand and result.
      reduction_factors: factors that the operation sums over: sharded operands give unreduced
        results, which ``partition`` adds up.
      need_replication_factors: factors that must not be sharded.
      permutation_factors: factors along which the devices exchange data.
      **factor_sizes: the sizes of factors that occur in compound factors only.

    Raises:
      ValueError: if a factor is not used, lacks its size, or is of two of these kinds.

    Example:
      >>> from ricci.experimental.custom_partitioning import ArrayMapping, SdyShardingRule
      >>> SdyShardingRule((ArrayMapping("i", "j"),), (ArrayMapping("i"),), reduction_factors=("j",))
      SdyShardingRule((('i', 'j'),), (('i',),), {} reduction_factors=('j',))
    """

    __slots__ = (
        "factor_sizes",
        "need_replication_factors",
        "operand_mappings",
        "permutation_factors",
        "reduction_factors",
        "result_mappings",
    )

    operand_mappings: tuple[ArrayMapping, ...]
    result_mappings: tuple[ArrayMapping, ...]
    reduction_factors: tuple[str, ...]
    need_replication_factors: tuple[str, ...]
    permutation_factors: tuple[str, ...]
    factor_sizes: dict[str, int]

    def __init__(
        self,
        operand_mappings: tuple[ArrayMapping, ...],
        result_mappings: tuple[ArrayMapping, ...],
        *,
        reduction_factors: tuple[str, ...] = (),
        need_replication_factors: tuple[str, ...] = (),
        permutation_factors: tuple[str, ...] = (),
        **factor_sizes: int,
    ):
        self.operand_mappings = tuple(ArrayMapping(*m) for m in operand_mappings)
        self.result_mappings = tuple(ArrayMapping(*m) for m in result_mappings)
        self.reduction_factors = reduction_factors
        self.need_replication_factors = need_replication_factors
        self.permutation_factors = permutation_factors
        self.factor_sizes = factor_sizes
        self._check()

    def _check(self) -> None:
        mappings = (*self.operand_mappings, *self.result_mappings)
        used = {factor for mapping in mappings for factor in mapping.factors()}
        # The size of a factor that is a whole dimension is read from the shapes.
        whole = {factor for mapping in mappings for factor in mapping if isinstance(factor, str)}
        for name, size in self.factor_sizes.items():
            if name not in used:
                raise ValueError(f"sharding rule: the size {name}={size} is of an unknown factor.")
            if name in whole:
                raise ValueError(
                    f"sharding rule: the factor {name!r} is a whole dimension, which has a size; "
                    f"leave out {name}={size}."
                )
        for name in sorted(used - whole - set(self.factor_sizes)):
            raise ValueError(
                f"sharding rule: the factor {name!r} occurs in compound factors alone, so that its "
                f"size is unknown; pass {name}=."
            )
        kinds: dict[str, str] = {}
        for kind in ("reduction_factors", "need_replication_factors", "permutation_factors"):
            names = getattr(self, kind)
            if not isinstance(names, tuple):
                raise ValueError(
                    f"sharding rule: {kind} is a tuple of names, got {names!r} of type "
                    f"{type(names).__name__}."
                )
            for name in names:
                if name not in used:
                    raise ValueError(f"sharding rule: {name!r} in {kind} is not a factor in it.")
                if kinds.setdefault(name, kind) != kind:
                    raise ValueError(
                        f"sharding rule: the factor {name!r} is in {kinds[name]} and in {kind}; it "
                        "can be of one kind only."
                    )

    def __repr__(self) -> str:
        kinds = ("reduction_factors", "need_replication_factors", "permutation_factors")
        special = "".join(f" {k}={getattr(self, k)}" for k in kinds if getattr(self, k))
        values = f"{self.operand_mappings}, {self.result_mappings}, {self.factor_sizes}"
        return f"SdyShardingRule({values}{special})"


def parse_rule(
    text: str,
    *,
    reduction_factors: tuple[str, ...] = (),
    need_replication_factors: tuple[str, ...] = (),
    permutation_factors: tuple[str, ...] = (),
    **factor_sizes: int,
) -> SdyShardingRule:
    """Parse a rule in the notation of einsum: ``"... i j, j k -> ... i k"``.

    Raises:
      ValueError: if the text is not a rule.

    Example:
      >>> from ricci_parallel.partitioning._rule import parse_rule
      >>> parse_rule("(heads size) i -> heads i", size=4)
      SdyShardingRule(((('heads', 'size'), 'i'),), (('heads', 'i'),), {'size': 4})
    """
    sides = text.split("->")
    if len(sides) != 2:
        raise ValueError(
            f"sharding rule {text!r}: expected one '->' between operands and results, as in "
            "'i j, j k -> i k'."
        )
    operands, results = (tuple(_mapping(part, text) for part in s.split(",")) for s in sides)
    return SdyShardingRule(
        operands,
        results,
        reduction_factors=reduction_factors,
        need_replication_factors=need_replication_factors,
        permutation_factors=permutation_factors,
        **factor_sizes,
    )


def _mapping(part: str, text: str) -> ArrayMapping:
    factors: list[Factor] = []
    group: list[str] | None = None
    for token in _TOKEN.findall(part.rstrip()):
        if token == "(":
            if group is not None:
                raise ValueError(f"sharding rule {text!r}: compound factors cannot be nested.")
            group = []
        elif token == ")":
            if group is None:
                raise ValueError(f"sharding rule {text!r}: a ')' without its '('.")
            factors.append(CompoundFactor(*group))
            group = None
        elif not (token[0].isalnum() or token.startswith("...")):
            raise ValueError(f"sharding rule {text!r}: {token!r} has no meaning there.")
        elif group is not None:
            group.append(token)
        else:
            # An unnamed group gets a name that cannot be written.
            factors.append(token.replace("...", BATCHING) if token != "..." else f"{BATCHING}0")
    if group is not None:
        raise ValueError(f"sharding rule {text!r}: a '(' without its ')'.")
    return ArrayMapping(*factors)


def rule_text(rule: SdyShardingRule, operands: Sequence[Shape], results: Sequence[Shape]) -> str:
    """Return the attribute ``sdy.op_sharding_rule`` of an operation.

    Args:
      rule: the rule.
      operands, results: the shapes of the operation's operands and results.

    Raises:
      ValueError: if the rule does not fit the shapes.

    Example:
      >>> from ricci_parallel.partitioning._rule import parse_rule, rule_text
      >>> rule_text(parse_rule("... j, j k -> ... k"), [(2, 3), (3, 4)], [(2, 4)])
      '#sdy.op_sharding_rule<([i, j], [j, k])->([i, k]) {i=2, j=3, k=4}, custom>'
    """
    for mappings, shapes, what in (
        (rule.operand_mappings, operands, "operand"),
        (rule.result_mappings, results, "result"),
    ):
        if len(mappings) != len(shapes):
            raise ValueError(
                f"sharding rule {rule}: it has {len(mappings)} {what}s, but the operation has "
                f"{len(shapes)}."
            )
    sizes: dict[str, int] = dict(rule.factor_sizes)
    order: dict[str, None] = {}
    groups: dict[str, tuple[int, str]] = {}
    expanded = [
        _expand(rule, mapping, shape, what, groups, sizes, order)
        for mapping, shape, what in _values(rule, operands, results)
    ]
    for (_, shape, what), dims in zip(_values(rule, operands, results), expanded, strict=True):
        for size, factors in zip(shape, dims, strict=True):
            if len(factors) > 1 and prod(sizes[f] for f in factors) != size:
                raise ValueError(
                    f"sharding rule {rule}: the factors {factors} of {what} have the sizes "
                    f"{tuple(sizes[f] for f in factors)}, but the dimension is of size {size}."
                )
    # Shardy's syntax has single letters, or z_1, z_2 and so on after them.
    letters = dict(zip(order, _names(), strict=False))
    texts = [
        f"[{', '.join(''.join(letters[f] for f in factors) for factors in dims)}]"
        for dims in expanded
    ]
    count = len(operands)
    size_text = ", ".join(f"{letters[f]}={sizes[f]}" for f in order)
    kinds = "".join(
        f" {kind}={{{', '.join(letters[f] for f in order if f in factors)}}}"
        for kind, factors in (
            ("reduction", rule.reduction_factors),
            ("need_replication", rule.need_replication_factors),
            ("permutation", rule.permutation_factors),
        )
        if factors
    )
    sides = f"({', '.join(texts[:count])})->({', '.join(texts[count:])})"
    braces = f" {{{size_text}}}" if size_text else ""
    return f"#sdy.op_sharding_rule<{sides}{braces}{kinds}, custom>"


def _values(
    rule: SdyShardingRule, operands: Sequence[Shape], results: Sequence[Shape]
) -> Iterator[tuple[ArrayMapping, Shape, str]]:
    for i, (mapping, shape) in enumerate(zip(rule.operand_mappings, operands, strict=True)):
        yield mapping, shape, f"operand {i}"
    for i, (mapping, shape) in enumerate(zip(rule.result_mappings, results, strict=True)):
        yield mapping, shape, f"result {i}"


def _expand(
    rule: SdyShardingRule,
    mapping: ArrayMapping,
    shape: Shape,
    what: str,
    groups: dict[str, tuple[int, str]],
    sizes: dict[str, int],
    order: dict[str, None],
) -> list[tuple[str, ...]]:
    """Return the factors of each dimension; record their sizes and their order."""
    batching = mapping.batching
    named = mapping[1:] if batching else mapping
    leading = len(shape) - len(named)
    if leading < 0 or (leading and not batching):
        raise ValueError(
            f"sharding rule {rule}: {what} has {len(named)} dimensions in it, but is of rank "
            f"{len(shape)}."
        )
    dims: list[tuple[str, ...]] = []
    if batching:
        count, first = groups.setdefault(batching, (leading, what))
        if count != leading:
            raise ValueError(
                f"sharding rule {rule}: the leading dimensions {batching!r} are {count} in {first} "
                f"and {leading} in {what}. Give the groups names: '...a' and '...b'."
            )
        dims = [(f"{batching}{i}",) for i in range(leading)]
    dims += [tuple(f) if isinstance(f, CompoundFactor) else (f,) for f in named]
    # A factor that is a dimension by itself has its size, the least one where several have it.
    seen: set[str] = set()
    for size, factors in zip(shape, dims, strict=True):
        for factor in factors:
            if factor in seen:
                raise ValueError(f"sharding rule {rule}: {factor!r} occurs twice in {what}.")
            seen.add(factor)
            order.setdefault(factor)
        if len(factors) == 1:
            sizes[factors[0]] = min(size, sizes.get(factors[0], size))
    return dims


def _names() -> Iterator[str]:
    yield from _LETTERS
    number = 1
    while True:
        yield f"z_{number}"
        number += 1
