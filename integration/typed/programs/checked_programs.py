"""Programs that are checked before they run: errors, memory, and the origin of a NaN."""

import ricci
import ricci.numpy as jnp
from ricci import Array, random
from ricci.debug import find_nan


def noisy(key: Array, x: Array) -> Array:
    return x + random.normal(key, x.shape) * random.uniform(key, x.shape)


def entropy(p: Array) -> Array:
    return -(p * jnp.log(p)).sum()


def main() -> None:
    report = ricci.check(noisy, ignore=["float64-narrowed"])(random.key(0), jnp.ones(3))
    codes: list[str] = [finding.code for finding in report]
    assert codes == ["RC101"]
    lines: set[str] = {str(finding) for finding in report}
    assert len(lines) == 1
    found = find_nan(ricci.grad(entropy), jnp.array([0.5, 0.0, 0.5]))
    assert found is not None
    assert found.operation in str(found)
    precise = ricci.precision(entropy, suggest=True)(jnp.array([0.5, 0.25, 0.25]))
    errors: list[float] = [line.local for line in precise.lines]
    assert precise.error < 1e-5 and max(errors, default=0.0) < 1e-5
    assert ricci.make_jaxpr(entropy)(jnp.ones(2)).eqns[0].primitive.name == "log"
