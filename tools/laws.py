"""Check the laws on every primitive and print what ran: a table of primitives by laws.

A number is how many cases were checked, the one behind a + how many there was nothing to check of;
the reasons follow. With `--full`, cases are all variants of all examples; else one for each gap.
"""

import argparse
import sys
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

import ricci_parallel  # noqa: F401  (defines the collectives)
from ricci_ir import primitives, use_backend
from ricci_reference import missing_rule, reference_backend
from ricci_testing import (
    LAWS,
    Example,
    cases,
    check_compiled,
    examples,
    exempt_rules,
    without_examples,
)
from ricci_xla import jit

_COMPILED = "XLA computes what NumPy does"
_TRANSFORMED = "XLA computes what NumPy does of jvp, vjp and vmap"
_ONLY_FULL = "`--full` compiles them; the tests take one example of each primitive"


class Report:
    """The outcomes of a run: counts and reasons by law and primitive, and the failures."""

    def __init__(self) -> None:
        self.ran: Counter[tuple[str, str]] = Counter()
        self.skipped: dict[str, Counter[str]] = defaultdict(Counter)
        self.nothing: Counter[tuple[str, str]] = Counter()
        self.broken = 0
        self.seconds: defaultdict[str, float] = defaultdict(float)

    def fail(self, failure: str) -> None:
        """Count a failure and print it at once: a run of all takes long, and may be ended."""
        self.broken += 1
        print(f"\nBROKEN: {failure}", flush=True)

    def check(
        self, law: str, name: str, examples: Sequence[Example], run: Callable[[], str | None]
    ) -> None:
        """Run a law on some cases together, and count them."""
        start = time.perf_counter()
        try:
            reason = run()
        except Exception:  # noqa: BLE001 - of a law that is broken, all are listed
            cases = "; ".join(map(str, examples[:3]))
            self.fail(f"{law}: {name}{cases}\n{traceback.format_exc(limit=-2)}")
            return
        finally:
            self.seconds[law] += time.perf_counter() - start
        if reason is None:
            self.ran[law, name] += len(examples)
        else:
            self.nothing[law, name] += len(examples)
            self.skipped[law][reason] += len(examples)

    def table(self, names: Sequence[str]) -> str:
        """The table of primitives by laws, and of the reasons."""
        laws = [*LAWS, _COMPILED, _TRANSFORMED]
        width = max(map(len, names)) + 1
        lines = [f"{i + 1}: {law}" for i, law in enumerate(laws)]
        lines += ["", " " * width + "".join(f"{i + 1:>8}" for i in range(len(laws)))]
        for name in names:
            cells = [self._cell(self.ran[law, name], self.nothing[law, name]) for law in laws]
            lines.append(f"{name:{width}}" + "".join(f"{cell:>8}" for cell in cells))
        totals = [sum(self.ran[law, name] for name in names) for law in laws]
        lines.append(f"{'all':{width}}" + "".join(f"{total:>8}" for total in totals))
        seconds = [self.seconds[law] for law in laws]
        lines.append(f"{'seconds':{width}}" + "".join(f"{s:>8.1f}" for s in seconds))
        for law in laws:
            if self.skipped[law]:
                lines += ["", f"nothing to check of the law that {law}:"]
                lines += [f"{n:>8}  {reason}" for reason, n in self.skipped[law].most_common()]
        return "\n".join(lines)

    @staticmethod
    def _cell(ran: int, nothing: int) -> str:
        return f"{ran}+{nothing}" if nothing else str(ran)


def left_out() -> str:
    """List the primitives and laws without cases, with the reasons."""
    by_topic: defaultdict[str, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name, reason in without_examples.items():
        by_topic["examples"][reason].append(name)
    for name, reasons in exempt_rules.items():
        for topic, reason in reasons.items():
            by_topic[topic][reason].append(name)
    lines = []
    for topic, by_reason in sorted(by_topic.items()):
        lines += ["", f"left out: {topic}"]
        lines += [f"  {', '.join(sorted(names))}: {r}" for r, names in sorted(by_reason.items())]
    return "\n".join(lines)


def _compiled(name: str, examples: Sequence[Example], *, derived: bool = False) -> None:
    check_compiled(
        primitives[name], examples, jit=jit, reference=reference_backend, derived=derived
    )


def check(names: Sequence[str], *, full: bool) -> Report:
    """Check all laws on the cases of some primitives."""
    report = Report()
    for name in names:
        primitive = primitives[name]
        if reason := missing_rule(primitive):
            report.fail(reason)
            continue
        case_list = cases(name, full=full)
        with use_backend(reference_backend):
            for law, holds in LAWS.items():
                for case in case_list:
                    run = lambda h=holds, p=primitive, c=case: h(p, c)
                    report.check(law, name, [case], run)
        report.check(_COMPILED, name, case_list, lambda n=name, c=case_list: _compiled(n, c))
        transformed = examples()[name]
        run = lambda t=transformed, n=name: _compiled(n, t, derived=True) if full else _ONLY_FULL
        report.check(_TRANSFORMED, name, transformed, run)
        print(".", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return report


def main(arguments: Sequence[str] | None = None) -> int:
    """Check and print; the exit status is 1 if a law is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("primitives", nargs="*", help="their names, by default all")
    parser.add_argument("--full", action="store_true", help="all variants of all examples")
    options = parser.parse_args(arguments)
    names = options.primitives or sorted(examples())
    report = check(names, full=options.full)
    print(report.table(names))
    print(left_out())
    print(f"\n{len(names)} primitives, {sum(report.ran.values())} checks, "
          f"{report.broken} broken")  # fmt: skip
    return bool(report.broken)


if __name__ == "__main__":
    sys.exit(main())
