"""``einsum``: sums of products written with an index for each dimension.

The expression is turned into steps, each a sum, a diagonal or one ``dot_general``; the steps
depend on shapes only and are cached. With more than two operands opt_einsum finds their order.
"""

import string
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_lax.authoring import checked_out_sharding, resolved_by
from ricci_numpy._promotion import convert, no_out
from ricci_numpy._promotion import operands as checked_operands

from ._partial_sums import NamedPlacement, partial_sums
from ._products import contract, is_intercepted, preferred_type

if TYPE_CHECKING:
    from decimal import Decimal

__all__ = ["PathInfo", "einsum", "einsum_path"]


@ir.exported
class PathInfo(Protocol):
    """Description of an order of contractions by opt_einsum; printed, a table of the steps.

    opt_einsum has no type annotations, so its attributes are declared here.

    Attributes:
      eq: the expression, with its result.
      naive_cost, opt_cost: how many operations all at once would take, and this order takes.
      speedup: the ratio of the two.
      largest_intermediate: the number of elements of the largest result of a step.
    """

    eq: str
    naive_cost: "Decimal"
    opt_cost: "Decimal"
    speedup: "Decimal"
    largest_intermediate: "Decimal"


class Expression(ir.TupleRecord):
    """The labels of each operand's dimensions, and of the result's."""

    inputs: tuple[str, ...]
    output: str


# By the subscripts and the shapes of the operands.
_expressions: ir.Cache[tuple[str, tuple[ir.Shape, ...]], Expression] = ir.Cache(
    "einsum subscripts", 1024
)


def _read(subscripts: str, shapes: tuple[ir.Shape, ...]) -> Expression:
    key = subscripts, shapes
    cached = _expressions.entries.get(key)
    return _expressions.make(key, _parse, *key) if cached is None else cached


def _parse(subscripts: str, shapes: tuple[ir.Shape, ...]) -> Expression:
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(shapes):
        raise ValueError(
            f"einsum: the subscripts {subscripts!r} name {len(terms)} operands, {len(shapes)} "
            "were given."
        )
    for term in (*terms, right):
        for label in term.replace("...", ""):
            if not label.isalpha():
                raise ValueError(
                    f"einsum: {label!r} in {subscripts!r} is not a label; use letters."
                )
    terms, dots = _expand_dots(subscripts, terms, shapes)
    # Without an arrow the output has the labels that occur once, in alphabetical order.
    counts = Counter("".join(terms))
    if arrow:
        output = right.replace("...", dots)
    else:
        output = dots + "".join(
            sorted(label for label, n in counts.items() if n == 1 and label not in dots)
        )
    for label in output:
        if label not in counts:
            raise ValueError(f"einsum: the output label {label!r} is not among the inputs.")
        if output.count(label) > 1:
            raise ValueError(f"einsum: the output label {label!r} appears more than once.")
    _check_sizes(subscripts, terms, shapes)
    return Expression(tuple(terms), output)


def _expand_dots(
    subscripts: str, terms: list[str], shapes: tuple[ir.Shape, ...]
) -> tuple[list[str], str]:
    free = [c for c in string.ascii_letters if c not in subscripts]
    widths = []
    for i, (term, shape) in enumerate(zip(terms, shapes, strict=True)):
        named = len(term.replace("...", ""))
        width = len(shape) - named
        if width < 0 or (width and "..." not in term):
            raise ValueError(
                f"einsum: {term!r} in {subscripts!r} names {named} dimensions, but operand {i} has "
                f"shape {shape}."
            )
        widths.append(width if "..." in term else 0)
    # A shorter ``...`` takes the last letters, so that dimensions are aligned from the last.
    dots = "".join(free[: max(widths, default=0)])
    expanded = [
        term.replace("...", dots[len(dots) - width :])
        for term, width in zip(terms, widths, strict=True)
    ]
    return expanded, dots


def _check_sizes(subscripts: str, terms: list[str], shapes: tuple[ir.Shape, ...]) -> None:
    sizes: dict[str, int] = {}
    for i, (term, shape) in enumerate(zip(terms, shapes, strict=True)):
        for label, size in zip(term, shape, strict=True):
            earlier = sizes.get(label, 1)
            if 1 not in (earlier, size) and earlier != size:
                raise ValueError(
                    f"einsum: label {label!r} has size {earlier} and, in operand {i} of "
                    f"{subscripts!r}, size {size}."
                )
            sizes[label] = size if earlier == 1 else earlier


# The steps: sums, diagonals and products of two operands.


def _sum_over(x: ir.Array, labels: str, summed: str) -> tuple[ir.Array, str]:
    axes = tuple(i for i, label in enumerate(labels) if label in summed)
    if not axes:
        return x, labels
    return _total(x, axes), "".join(c for c in labels if c not in summed)


def _total(x: ir.Array, axes: tuple[int, ...]) -> ir.Array:
    """The sum over axes; of booleans, whether any holds, as products of booleans are ``and``."""
    aval = ir.get_aval(x)
    return (lax.reduce_or if aval.dtype == ir.BOOL else lax.reduce_sum)(x, axes)


def _mask_diagonals(x: ir.Array, labels: str, keep: str) -> tuple[ir.Array, str]:
    """Sum over repeated labels, after setting elements off their diagonal to zero."""
    for label, count in Counter(labels).items():
        if count == 1:
            continue
        axes = [i for i, c in enumerate(labels) if c == label]
        x = _masked(x, axes)
        drop = axes[:-1] if label in keep else axes
        if label in keep:
            x = _total(x, tuple(drop))
            labels = "".join(c for i, c in enumerate(labels) if i not in drop)
        else:
            x = _total(x, tuple(axes))
            labels = labels.replace(label, "")
    return x, labels


def _masked(x: ir.Array, axes: list[int]) -> ir.Array:
    aval = ir.get_aval(x)
    shape = tuple(aval.shape[i] for i in axes)
    places = [lax.broadcasted_iota(np.uint32, shape, d) for d in range(len(axes))]
    mask = lax.eq(places[0], places[1])
    for one, other in zip(places[1:], places[2:], strict=False):
        mask = lax.bitwise_and(mask, lax.eq(one, other))
    mask = lax.broadcast_in_dim(mask, aval.shape, axes)
    zero = ir.exact_scalar(0, aval.dtype)
    return lax.select_n(mask, lax.full(aval.shape, zero, aval.dtype), x)


def _single(x: ir.Array, labels: str, output: str) -> ir.Array:
    x, labels = _mask_diagonals(x, labels, output)
    x, labels = _sum_over(x, labels, "".join(c for c in labels if c not in output))
    return lax.transpose(x, [labels.index(c) for c in output])


class _Operand(ir.TupleRecord):
    value: ir.Array
    labels: str


def _prepared(x: _Operand, result_labels: set[str], other: str) -> _Operand:
    """An operand summed over repeated labels and over unused ones."""
    needed = "".join(result_labels) + other
    value, labels = _mask_diagonals(x.value, x.labels, needed)
    return _Operand(*_sum_over(value, labels, "".join(c for c in labels if c not in needed)))


def _without_ones(x: _Operand, other: _Operand) -> _Operand:
    """An operand without the dimensions of size 1 that broadcast against larger ones."""
    sizes = dict(zip(other.labels, np.shape(other.value), strict=True))
    ones = [
        i
        for i, (label, size) in enumerate(zip(x.labels, np.shape(x.value), strict=True))
        if size == 1 and sizes.get(label, 1) != 1
    ]
    labels = "".join(c for i, c in enumerate(x.labels) if i not in ones)
    return _Operand(lax.squeeze(x.value, ones), labels)


def _pair(
    first: _Operand,
    second: _Operand,
    result: str,
    precision: lax.PrecisionLike,
    dtype: ir.DTypeLike,
    contractor: Callable[..., ir.Array],
    target: NamedPlacement | None,
) -> _Operand:
    result_labels = set(result)
    second = _prepared(second, result_labels, first.labels)
    first = _prepared(first, result_labels, second.labels)
    first, second = _without_ones(first, second), _without_ones(second, first)
    # A label whose dimension of size 1 was removed is left in one operand only, where it is summed.
    first, second = (
        _prepared(x, result_labels, y.labels) for x, y in ((first, second), (second, first))
    )
    # Shared labels are batch dimensions if the result keeps them, else they are contracted.
    shared = [c for c in first.labels if c in second.labels]
    batch = [c for c in result if c in shared]
    summed = [c for c in shared if c not in result_labels]

    def labels_of(a: _Operand, b: _Operand) -> str:
        free = [c for x in (a, b) for c in x.labels if c not in shared]
        return "".join((*batch, *free))

    lhs, rhs = (first, second) if labels_of(first, second) == result else (second, first)
    dims: Any = tuple(
        tuple(tuple(x.labels.index(c) for c in names) for x in (lhs, rhs))
        for names in (summed, batch)
    )
    labels = labels_of(lhs, rhs)
    order = [labels.index(c) for c in result]
    sharding = partial_sums(target, lhs.value, rhs.value, dims, order)
    value = contractor(lhs.value, rhs.value, dims, precision, dtype, sharding)
    return _Operand(lax.transpose(value, order), result)


def _run(
    arrays: Sequence[ir.Array],
    expression: Expression,
    order: Sequence[tuple[int, ...]],
    precision: lax.PrecisionLike,
    dtype: ir.DTypeLike,
    contractor: Callable[..., ir.Array],
    target: NamedPlacement | None = None,
) -> ir.Array:
    # ``order`` names positions in the list of operands left to contract; a result goes to its end.
    # A label is summed over as soon as neither another operand nor the output has it.
    work = [_Operand(*item) for item in zip(arrays, expression.inputs, strict=True)]
    for step, chosen in enumerate(order):
        parts = [work[i] for i in sorted(chosen)]
        work = [x for i, x in enumerate(work) if i not in chosen]
        needed = {c for x in work for c in x.labels} | set(expression.output)
        while len(parts) > 1:
            first, second = parts[:2]
            others = needed.union(*(x.labels for x in parts[2:]))
            last = step == len(order) - 1 and len(parts) == 2
            appearing = dict.fromkeys(second.labels + first.labels)
            result = expression.output if last else "".join(c for c in appearing if c in others)
            last_target = target if last else None
            parts[:2] = [_pair(first, second, result, precision, dtype, contractor, last_target)]
        work.append(parts[0])
    value, labels = work[0]
    return value if labels == expression.output else _single(value, labels, expression.output)


# A strategy of opt_einsum, whether to use the best one, or the order itself.
Optimize = str | bool | Sequence[tuple[int, ...]]
_plans: ir.Cache[tuple, tuple[Expression, tuple]] = ir.Cache("einsum", 1024)


def _plan(
    subscripts: str, shapes: tuple[ir.Shape, ...], optimize: Optimize
) -> tuple[Expression, tuple[tuple[int, ...], ...]]:
    if isinstance(optimize, list | tuple):
        optimize = tuple(map(tuple, optimize))
    key = (subscripts, shapes, optimize)
    plan = _plans.recall(key)
    if plan is None:
        expression = _read(subscripts, shapes)
        order = _description(expression, shapes, optimize)[0] if len(shapes) > 1 else ()
        plan = _plans.add(key, (expression, tuple(order)))
    return plan


def _description(
    expression: Expression, shapes: tuple[ir.Shape, ...], optimize: Optimize
) -> tuple[list[tuple[int, ...]], PathInfo]:
    """The order of contractions, and opt_einsum's description of it."""
    from opt_einsum import contract_path  # noqa: PLC0415 - lazy: an optional dependency

    text = f"{','.join(expression.inputs)}->{expression.output}"
    strategy: Any = "optimal" if optimize is True else optimize
    if optimize is False:
        strategy = [(0, 1)] * (len(shapes) - 1) or [(0,)]
    elif isinstance(optimize, tuple):
        strategy = list(optimize)
    typical_shapes = [tuple(map(ir.typical_size, shape)) for shape in shapes]
    order, description = contract_path(text, *typical_shapes, shapes=True, optimize=strategy)
    return list(order), description


def _interleaved(args: tuple) -> tuple[str, list[Any]]:
    """``einsum(a, [0, 1], b, [1, 2], [0, 2])`` as subscripts and operands."""
    names: dict[Any, str] = {}

    def letters(labels: Iterable[Hashable]) -> str:
        return "".join(
            "..."
            if label is Ellipsis
            else names.setdefault(label, string.ascii_letters[len(names)])
            for label in labels
        )

    pairs = len(args) // 2
    labels = [args[2 * i + 1] for i in range(pairs)]
    # Sorted labels get letters in order, so that an implied output is sorted alike.
    for label in sorted({c for term in labels for c in term if c is not Ellipsis}):
        names[label] = string.ascii_letters[len(names)]
    text = ",".join(map(letters, labels))
    if len(args) % 2:
        text += "->" + letters(args[-1])
    return text, [args[2 * i] for i in range(pairs)]


@ir.public
def einsum(
    subscripts: str | ir.ArrayLike,
    /,
    *operands: ir.ArrayLike | Sequence[Any],
    out: None = None,
    optimize: Optimize = "auto",
    precision: lax.PrecisionLike = None,
    preferred_element_type: ir.DTypeLike | None = None,
    _dot_general: Callable[..., ir.Array] | None = None,
    out_sharding: object = None,
) -> ir.Array:
    """Sums of products, written with a letter for each dimension.

    Args:
      subscripts: such as ``"ij,jk->ik"``: dimensions of one letter are lined up, letters that
        the output lacks are summed over. ``...`` stands for leading dimensions, which broadcast.
        Without ``->`` the output has the letters that appear once, sorted. Or operands and
        lists of ints in turn.
      operands: the arrays.
      out: must be ``None``.
      optimize: how the order of contractions is found: a strategy of opt_einsum by name, such
        as ``"greedy"``; ``True`` for ``"optimal"``; ``False`` for the first two operands that are
        left, each time; or a path, a sequence of pairs of positions.
      precision, preferred_element_type, out_sharding: see ``dot``.
      _dot_general: a function to use in place of ``lax.dot_general``.

    Returns:
      An array with a dimension for each letter of the output, of the promoted dtype or of
      ``preferred_element_type``.

    Raises:
      ValueError: if the subscripts and the operands do not fit.
      TypeError: if an operand is not an array.
      KeyError: if ``optimize`` names no strategy.
      NotImplementedError: if ``out`` is given.

    On GPUs and TPUs products of float32 may be taken with fewer bits: ``precision="highest"`` takes
    all. For bfloat16 operands ``preferred_element_type="float32"`` keeps the accumulated sum as it
    is, where the result is otherwise rounded to bfloat16. The order of three and more operands is
    determined when the call is traced, so that it costs nothing at run time.

    Example:
      >>> import ricci.numpy as jnp
      >>> matrix, vector = jnp.arange(6.0).reshape(2, 3), jnp.array([1.0, 0.0, 2.0])
      >>> jnp.einsum("ij,j->i", matrix, vector).tolist()
      [4.0, 13.0]
      >>> jnp.einsum("ij->ji", matrix).shape, float(jnp.einsum("ii->", jnp.eye(3)))
      ((3, 2), 3.0)
      >>> q, k = jnp.ones((2, 5, 4, 8)), jnp.ones((2, 7, 4, 8))  # batch, time, head, feature
      >>> jnp.einsum("bqhd,bkhd->bhqk", q, k).shape
      (2, 4, 5, 7)
      >>> jnp.einsum("...i,...i", jnp.ones((5, 3)), jnp.arange(3.0)).tolist()
      [3.0, 3.0, 3.0, 3.0, 3.0]
      >>> low = jnp.full(257, 1.0, "bfloat16")
      >>> jnp.einsum("i,i", low, low), jnp.einsum("i,i", low, low, preferred_element_type="float32")
      (Array(256, dtype=bfloat16), Array(257., dtype=float32))

    See also:
      ``matmul``, ``tensordot``; ``einsum_path``, which shows the order.

    Source: numpy.einsum.
    """
    no_out("einsum", out)
    arguments: Sequence[Any] = operands
    if not isinstance(subscripts, str):
        subscripts, arguments = _interleaved((subscripts, *operands))
    arrays = checked_operands("einsum", *arguments)
    expression, order = _plan(subscripts, tuple(map(np.shape, arrays)), optimize)
    dtype, weak = preferred_type("einsum", preferred_element_type, *arrays)
    settings = {"expression": expression, "order": order, "precision": precision, "dtype": dtype}
    if out_sharding is not None:
        target = checked_out_sharding.call(out_sharding)
        contractor = _contract if _dot_general is None else _contractor(_dot_general)
        apply = lambda: _run(arrays, **settings, contractor=contractor, target=target)
        result = resolved_by(target, apply)
    elif _dot_general is not None:
        result = _run(arrays, **settings, contractor=_contractor(_dot_general))
    elif len(order) == 1 or ir.is_recording() or is_intercepted():
        result = _run(arrays, **settings, contractor=_contract)
    else:
        result = _einsum_step(*arrays, **settings)
    return convert(result, dtype, weak)


def _contract(
    lhs: ir.Array,
    rhs: ir.Array,
    dims: lax.DotDimensionNumbers,
    precision: lax.PrecisionLike,
    dtype: ir.DTypeLike,
    out_sharding: object,
) -> ir.Array:
    return contract("einsum", lhs, rhs, dims, precision, dtype, out_sharding)


def _contractor(dot_general: Callable[..., ir.Array]) -> Callable[..., ir.Array]:
    def contractor(lhs, rhs, dims, precision, dtype, out_sharding):
        return dot_general(lhs, rhs, dims, precision=precision, preferred_element_type=dtype)

    return contractor


@ir.composite("einsum")
def _einsum_step(*arrays: ir.Array, **settings: Any) -> ir.Array:
    return _run(arrays, **settings, contractor=_contract)


def einsum_path(
    subscripts: str | ir.ArrayLike,
    /,
    *operands: ir.ArrayLike | Sequence[Any],
    optimize: Optimize = "auto",
) -> tuple[list[tuple[int, ...]], PathInfo]:
    """The order in which ``einsum`` contracts its operands, and a description of it.

    Args:
      subscripts, operands, optimize: see ``einsum``.

    Returns:
      The positions to contract in each step, its result being appended to the remaining ones; and
      opt_einsum's ``PathInfo``, which prints the steps and what they cost.

    Raises:
      ValueError: if the subscripts and the operands do not fit.
      KeyError: if ``optimize`` names no strategy.

    Example:
      >>> import ricci.numpy as jnp
      >>> path, info = jnp.einsum_path(
      ...     "ij,jk,kl", jnp.ones((2, 9)), jnp.ones((9, 2)), jnp.ones((2, 9))
      ... )
      >>> path, int(info.opt_cost)
      ([(0, 1), (0, 1)], 144)

    Source: numpy.einsum_path.
    """
    arguments: Sequence[Any] = operands
    if not isinstance(subscripts, str):
        subscripts, arguments = _interleaved((subscripts, *operands))
    shapes = tuple(np.shape(x) for x in arguments)
    return _description(_read(subscripts, shapes), shapes, optimize)
