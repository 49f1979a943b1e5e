"""Programs with a mistake: the error's class and text, and the user's line.


The programs stand in ``mistakes``; ``tools/measure_errors.py`` measures them beside JAX.
"""

from pathlib import Path  # noqa: I001

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp

import measure_errors as measured

ROOT = Path(__file__).resolve().parents[2]

ALL = {m.name: m for topic in measured.TOPICS.values() for m in topic}
NOTE = "Ricci's own frames are left out"


@pytest.fixture(autouse=True)
def devices(eight_devices):
    """The programs are written for eight devices."""


@pytest.mark.parametrize("name", ALL)
def test_class_and_text(name, tmp_path):
    mistake = ALL[name]
    found = measured.provoke(mistake, "ricci", tmp_path)
    assert mistake.error in found.classes
    assert found.missing(mistake) == []
    assert found.shows_line(measured.marked_line(mistake))
    lines = [x for x in found.message.splitlines() if x and not x.startswith(f"({NOTE}")]
    assert len(lines) <= 13  # a dozen, and a note
    files = [line for line in found.text.splitlines() if line.startswith('  File "')]
    assert [file for file in files if "/ricci" in file] == []


def test_the_process_goes_on(tmp_path):
    for mistake in list(ALL.values())[::8]:
        measured.provoke(mistake, "ricci", tmp_path)
    f = ricci.jit(ricci.grad(lambda x: jnp.sum(jnp.sin(x) * x)))
    x = np.arange(3, dtype=np.float32)
    np.testing.assert_allclose(f(x), np.cos(x) * x + np.sin(x), rtol=1e-5)
    np.testing.assert_allclose(ricci.vmap(lambda a: a + 1)(x), x + 1)
