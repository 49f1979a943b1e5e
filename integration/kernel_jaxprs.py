"""Printed jaxprs of kernel calls, in a form that JAX's and ours share.

Names of variables depend on how many there are, and where lines break depends on the names; JAX
0.12 prints the unused old value of a written reference, and the parameters of `scan` otherwise than
JAX 0.11. `canonical` removes these from a text that is printed on one line.
"""

import re
from collections import Counter

# Replaces `pallas_call` in a program by one that records its printed jaxpr, and returns zeros.
RECORDER = """
class _Recorder:
    texts = []
    def __getattr__(self, name):
        return getattr(_kernels, name)
    def pallas_call(self, *args, **options):
        f = _kernels.pallas_call(*args, **options)
        def recorded(*operands):
            jaxpr, types = jax.make_jaxpr(f, return_shape=True)(*operands)
            text = jaxpr.pretty_print(width=10**6)
            if text not in self.texts:
                self.texts.append(text)
            return jax.tree.map(lambda t: jnp.zeros(t.shape, t.dtype), types)
        return recorded
_kernels, pl = pl, _Recorder()
"""

_BINDER = re.compile(r"(?<![\w.:'])(?!nan:|inf:)([a-z]{1,3}|_):(?=[A-Za-z]\w*[<\[{(])")
_USE = re.compile(r"(?:(?<=mask=)|(?<=other=)|(?<![\w.'=<]))([a-z]{1,3})(?![\w'=<(])")
_OLD_VALUE = re.compile(r"_:\S+, ([^;]+?) <- \1, ")
_FLOAT = re.compile(r"-?\d+\.?\d*(?:e[-+]?\d+)?(?=:(?:f|bf)\d)")


def canonical(text: str) -> list[str]:
    """The equations of a printed jaxpr, with numbered variables.

    A name belongs to one variable from its binder to the next binder of that name. Numbers begin
    anew in each of the jaxprs that are printed in front of the others, on lines of their own.
    """
    text = re.sub(r"(scan\[)ft_in=.*? (?=jaxpr=)", r"\1", text)
    text = re.sub(r"np\.int64\((\d+)\)", r"\1", text)
    text = re.sub(r" num_c\w+=\d+", "", text)
    text = _FLOAT.sub(lambda number: f"{float(number[0]):.6g}", text)
    uses = Counter(_USE.findall(_BINDER.sub("", text)))
    text = _BINDER.sub(lambda m: f"{m[1] if uses[m[1]] else '_'}:", text)
    text = _OLD_VALUE.sub(r"\1 <- ", text)
    numbered = "\n".join(map(_numbered, text.splitlines()))
    return re.sub(r"(?<!lambda ); (?!\})|(?<=\. let) ", "\n", numbered).split("\n")


def _numbered(text: str) -> str:
    numbers: dict[str, int] = {}
    count = 0

    def number(match: re.Match[str]) -> str:
        nonlocal count
        name = match[1] or match[2]
        if match[1] and name != "_":
            count += 1
            numbers[name] = count
        shown = f"%{numbers[name]}" if name in numbers else name
        return f"{shown}:" if match[1] else shown

    return re.sub(f"{_BINDER.pattern}|{_USE.pattern}", number, text)
