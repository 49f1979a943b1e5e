"""The version reads as that of JAX, and another distribution of the name is noticed."""

import subprocess
import sys
from pathlib import Path

import pytest

import jax
from jax._installation import others


def test_the_version_is_one_that_libraries_can_take_apart():
    assert jax.__version__ == jax.version.__version__
    assert tuple(map(int, jax.__version__.split("."))) == jax.__version_info__ == (0, 12, 0, 1)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("jax-0.12.0.1.dist-info", True),
        ("jax-0.4.30.egg-info", True),
        ("jax-0.12.0.1+ricci.0.1.0.dist-info", False),
        ("jaxlib-0.11.2.dist-info", False),
        ("jax_dataclasses-1.0.dist-info", False),
    ],
)
def test_other_distributions_of_the_name(tmp_path: Path, name: str, found: bool):
    (tmp_path / name).mkdir()
    assert others([str(tmp_path), str(tmp_path), "/nowhere"]) == [str(tmp_path / name)] * found


def test_importing_beside_another_one_warns(tmp_path: Path):
    (tmp_path / "jax-0.12.0.1.dist-info").mkdir()
    program = f"import sys; sys.path.append({str(tmp_path)!r}); import jax"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "another distribution named jax is installed too" in done.stderr
    assert done.returncode == 0
