"""Power series through loops and branches: the ``jet`` rules of scan, while and cond.

A jaxpr takes its operands, followed by their coefficients; see ``ricci_autodiff.at_once``.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ricci_autodiff import Zero, given_terms, instantiate, series_of, term_flags
from ricci_ir import Jaxpr, Var, fixpoint

from ._cond_programs import per_branch
from ._scan_programs import sections

type _Push = Callable[..., tuple[Jaxpr, list[tuple[bool, ...]]]]
type _Series = Sequence[Sequence[Any]]
type _SeriesFlags = tuple[tuple[bool, ...], ...]


def _present(values: Sequence[Any], series: _Series, flags: _SeriesFlags) -> list[Any]:
    """The flagged coefficients, with zeros for those that are ``None``."""
    return [
        instantiate(Zero.from_primal(x)) if term is None else term
        for x, terms, row in zip(values, series, flags, strict=True)
        for term, flag in zip(terms, row, strict=True)
        if flag
    ]


def _count(flags: _SeriesFlags) -> int:
    return sum(map(sum, flags))


def _closed(
    push: _Push, jaxpr: Jaxpr, before: _SeriesFlags, carry: _SeriesFlags, after: _SeriesFlags
) -> tuple[Jaxpr, _SeriesFlags, _SeriesFlags]:
    """The body on series, and flags of the coefficients of the carry and of the other results.

    A coefficient of the carry that is not zero after an iteration is not zero in the next one.
    """
    order = len((*before, *carry, *after)[0])
    others = ((False,) * order,) * (len(jaxpr.outvars) - len(carry))

    def push_carry(carry: _SeriesFlags) -> tuple[tuple[Jaxpr, _SeriesFlags], _SeriesFlags]:
        pushed, flags = push(jaxpr, (*before, *carry, *after), (*carry, *others))
        return (pushed, tuple(flags[len(carry) :])), tuple(flags[: len(carry)])

    (pushed, collected), carry = fixpoint(push_carry, carry)
    return pushed, carry, collected


def scan_series(
    bind: Callable[..., Sequence[Any]],
    push: _Push,
    primals: Sequence[Any],
    series: _Series,
    *,
    jaxpr: Jaxpr,
    num_consts: int,
    num_carry: int,
    **params: Any,
) -> tuple[list[Any], list[list[Any]]]:
    """The ``at_once`` rule of ``scan``, which ``bind`` applies."""
    flags = term_flags(series)
    body, carry_flags, collected = jaxpr.derived(
        ("jet of scan", num_consts, num_carry, flags),
        lambda: _scan_body(push, jaxpr, num_consts, num_carry, flags),
    )
    consts, carry, xs = sections(primals, num_consts, num_carry)
    const_series, carry_series, xs_series = sections(series, num_consts, num_carry)
    const_terms, carry_terms = given_terms(const_series), _present(carry, carry_series, carry_flags)
    outs = bind(
        *consts,
        *const_terms,
        *carry,
        *carry_terms,
        *xs,
        *given_terms(xs_series),
        jaxpr=body,
        num_consts=num_consts + len(const_terms),
        num_carry=num_carry + len(carry_terms),
        **params,
    )
    end = num_carry + len(carry_terms)
    count = end + len(jaxpr.outvars) - num_carry
    terms = [*outs[num_carry:end], *outs[count:]]
    return [*outs[:num_carry], *outs[end:count]], series_of((*carry_flags, *collected), terms)


def _scan_body(push, jaxpr, num_consts, num_carry, flags):
    """The body, in each of whose sections the coefficients follow the primals."""
    consts, carry, xs = sections(flags, num_consts, num_carry)
    pushed, carry, collected = _closed(push, jaxpr, consts, carry, xs)
    primals, terms = pushed.invars[: len(flags)], pushed.invars[len(flags) :]
    count = _count(carry)
    # The coefficients stand behind all primals; in the body they follow the primals of their
    # section, so that a scan takes them for further constants, carries or slices.
    pairs = zip(
        sections(primals, num_consts, num_carry),
        sections(terms, _count(consts), count),
        strict=True,
    )
    outs, out_terms = pushed.outvars[: len(jaxpr.outvars)], pushed.outvars[len(jaxpr.outvars) :]
    body = pushed.replace(
        invars=[v for pair in pairs for part in pair for v in part],
        outvars=[*outs[:num_carry], *out_terms[:count], *outs[num_carry:], *out_terms[count:]],
    )
    return body, carry, collected


def while_series(
    bind: Callable[..., Sequence[Any]],
    push: _Push,
    primals: Sequence[Any],
    series: _Series,
    *,
    cond_jaxpr: Jaxpr,
    cond_nconsts: int,
    body_jaxpr: Jaxpr,
    body_nconsts: int,
) -> tuple[list[Any], list[list[Any]]]:
    """The ``at_once`` rule of ``while_loop``, which ``bind`` applies."""
    cond_consts, consts, carry = sections(primals, cond_nconsts, body_nconsts)
    _, const_series, carry_series = sections(series, cond_nconsts, body_nconsts)
    const_flags = term_flags(const_series)
    condition, body, flags = body_jaxpr.derived(
        ("jet of while", cond_jaxpr, const_flags, term_flags(carry_series)),
        lambda: _while_programs(
            push, cond_jaxpr, body_jaxpr, const_flags, term_flags(carry_series)
        ),
    )
    terms = given_terms(const_series)
    outs = bind(
        *cond_consts,
        *consts,
        *terms,
        *carry,
        *_present(carry, carry_series, flags),
        cond_jaxpr=condition,
        cond_nconsts=cond_nconsts,
        body_jaxpr=body,
        body_nconsts=body_nconsts + len(terms),
    )
    return list(outs[: len(carry)]), series_of(flags, outs[len(carry) :])


def _while_programs(push, cond_jaxpr, body_jaxpr, consts, carry):
    """The condition and the body of the loop with coefficients in its carry."""
    pushed, carry, _ = _closed(push, body_jaxpr, consts, carry, ())
    args = pushed.invars
    start, count = len(consts), len(body_jaxpr.invars)
    middle = count + _count(consts)
    body = pushed.replace(
        invars=[*args[:start], *args[count:middle], *args[start:count], *args[middle:]]
    )
    # The condition takes the coefficients in the carry, too, but does not read them.
    unused = [Var(v.aval) for v in args[middle:]]
    return cond_jaxpr.replace(invars=[*cond_jaxpr.invars, *unused]), body, carry


def cond_series(
    bind: Callable[..., Sequence[Any]],
    push: _Push,
    primals: Sequence[Any],
    series: _Series,
    *,
    branches: tuple[Jaxpr, ...],
    **params: Any,
) -> tuple[list[Any], list[list[Any]]]:
    """The ``at_once`` rule of ``cond``, which ``bind`` applies."""
    flags = term_flags(series[1:])
    pushed, union = per_branch(("jet", flags), branches, lambda: _on_series(push, branches, flags))
    outs = bind(*primals, *given_terms(series[1:]), branches=pushed, **params)
    return list(outs[: len(union)]), series_of(union, outs[len(union) :])


def _on_series(push, branches, flags):
    """The branches on series; all return the union of their coefficients."""
    each = [push(branch, flags)[1] for branch in branches]
    union = tuple(tuple(map(any, zip(*rows, strict=True))) for rows in zip(*each, strict=True))
    return tuple(push(branch, flags, union)[0] for branch in branches), union
