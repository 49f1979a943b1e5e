"""The rules of the linter: the code, the severity and the meaning of each."""

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["RULES", "Rule"]

SEVERITIES = ("note", "warning", "error")


class Rule(NamedTuple):
    """A rule of the linter.

    Attributes:
      code: such as ``RC101``; the first digit is the rule's topic.
      name: a name in words, such as ``key-reused``.
      severity: ``error`` if results are wrong, ``warning`` if time or memory is
        lost, ``note`` if it may be intended. A finding may have a milder severity.
      summary: the problem.
      advice: the remedy.
    """

    code: str
    name: str
    severity: str
    summary: str
    advice: str


_TABLE = (
    Rule(
        "RC001", "not-traceable", "error",
        "the function raises an exception when it is traced",
        "Fix that first; the code after it has not been checked.",
    ),
    Rule(
        "RC101", "key-reused", "error",
        "a random key is used twice, which gives the same numbers",
        "Use each key once: split it, and use the parts.",
    ),
    Rule(
        "RC102", "key-reused-in-loop", "error",
        "a loop uses one random key in every iteration",
        "Split the key ahead of the loop and scan over the parts, or fold_in the loop's index.",
    ),
    Rule(
        "RC103", "numpy-random", "error",
        "NumPy or Python draws a random number while tracing, so that all calls get the same",
        "Pass a key and draw with ricci.random, or draw before the call and pass the numbers.",
    ),
    Rule(
        "RC201", "float64-narrowed", "warning",
        "a float64 or complex128 array is narrowed, since 64-bit types are off",
        "Make it float32 to show that this is meant, or turn on jax_enable_x64.",
    ),
    Rule(
        "RC202", "int64-narrowed", "warning",
        "an int64 or uint64 array is narrowed, since 64-bit types are off",
        "Make it int32 to show that this is meant, or turn on jax_enable_x64.",
    ),
    Rule(
        "RC203", "promotion-loses-digits", "warning",
        "integers are promoted to a dtype that does not hold all of them",
        "Convert the operands to a dtype that holds both, or show by astype that this is meant.",
    ),
    Rule(
        "RC301", "type-drift", "warning",
        "a result that fits an argument has another type, so that feeding it back compiles again",
        "Give the argument the type of the result from the start, or convert the result.",
    ),
    Rule(
        "RC302", "carry-promoted", "note",
        "a loop's carry starts from a Python scalar and takes another type",
        "Start from an array of that type; the body is then traced once.",
    ),
    Rule(
        "RC401", "large-constant", "warning",
        "the function closes over a large array, which every compiled version keeps alive",
        "Pass it as an argument.",
    ),
    Rule(
        "RC501", "index-out-of-bounds", "error",
        "an index is out of bounds whatever the arguments are",
        "Correct the index; no error is raised when the program runs.",
    ),
    Rule(
        "RC502", "kernel-blocks", "error",
        "a kernel's blocks are outside of their arrays, leave a part of an output unwritten, are "
        "written again, or are read before they are written",
        "ricci.kernels.check returns such findings as data.",
    ),
    Rule(
        "RC601", "cond-runs-all-branches", "warning",
        "vmap turns a cond into all of its branches, since its predicate differs from example to "
        "example",
        "If a branch is costly, keep the predicate out of the batch, or loop with lax.map.",
    ),
    Rule(
        "RC602", "not-reversible", "error",
        "reverse mode (grad, vjp) meets a while_loop, which it cannot differentiate",
        "Use scan, or fori_loop with bounds known while tracing; jvp and jacfwd work.",
    ),
    Rule(
        "RC701", "donation-unused", "warning",
        "a donated argument's memory cannot be reused, yet it is gone after the call",
        "Do not donate it, or return a result of its shape and dtype.",
    ),
    Rule(
        "RC801", "involuntary-gather", "warning",
        "the compiler gathers parts of an array from several devices without a request",
        "Shard the operands alike, or request the sharding by with_sharding_constraint.",
    ),
    Rule(
        "RC802", "involuntary-replication", "warning",
        "the compiler gathers an array whole onto every device without a request",
        "Shard the operands alike, or request the sharding by with_sharding_constraint.",
    ),
)  # fmt: skip

RULES: dict[str, Rule] = {rule.code: rule for rule in _TABLE}


def chosen_rules(select: Sequence[str] | None, ignore: Sequence[str]) -> frozenset[str]:
    """Return the codes of the rules to check.

    Args:
      select: codes, the beginnings of codes (``"RC1"``) or names; ``None`` for all rules.
      ignore: the same, of rules that are not checked.

    Raises:
      ValueError: if a text matches no rule.
    """
    chosen = set(RULES) if select is None else _matching("select", select)
    return frozenset(chosen - _matching("ignore", ignore))


def _matching(what: str, texts: Sequence[str]) -> set[str]:
    texts = [texts] if isinstance(texts, str) else list(texts)
    codes_found: set[str] = set()
    for text in texts:
        matching = {r.code for r in _TABLE if r.code.startswith(text) or r.name == text}
        if not text or not matching:
            rules = ", ".join(f"{r.code} ({r.name})" for r in _TABLE)
            raise ValueError(f"check: {what}={text!r} does not match a rule. Rules are {rules}.")
        codes_found |= matching
    return codes_found
