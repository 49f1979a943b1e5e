"""Files with a transformer of Flax, run where neither Flax nor what traced it is.

``integration/libraries/make_export.py`` wrote them.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ricci_xla import devices
from ricci_xla.exported import load, read_export, write_export, write_jax_export
from ricci_xla.files import FileError

DATA = Path(__file__).parent / "data"
FILES = ["flax.export", "flax.jax"]


@pytest.fixture(scope="module")
def expected():
    with np.load(DATA / "flax.npz") as found:
        return dict(found)


@pytest.mark.parametrize("name", FILES)
def test_a_flax_model_runs(name, expected):
    predict = load(DATA / name)
    assert repr(predict) == "LoadedFunction(<lambda>(args[0]: int32[3,12]))"
    for _ in range(2):
        found = predict(expected["tokens"])
        assert sorted(found) == ["hidden", "logits"]
        for part, value in found.items():
            np.testing.assert_allclose(value, expected[part], rtol=1e-4, atol=1e-4)


def test_load_needs_only_jaxlib_and_this_package(expected):
    program = f"""
import sys
KNOWN = {{"ricci_xla", "ricci_ir", "ricci_pytree", "ricci_stablehlo"}}
class OnlyWhatIsDeclared:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        ours = top.startswith("ricci") and top not in KNOWN
        if ours or top in ("jax", "flax", "optax"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, OnlyWhatIsDeclared())
import numpy as np
from ricci_xla.exported import load
found = load({str(DATA / "flax.export")!r})(np.load({str(DATA / "flax.npz")!r})["tokens"])
sys.stdout.buffer.write(np.asarray(found["logits"]).tobytes())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    found = np.frombuffer(done.stdout, np.float32)
    np.testing.assert_allclose(found.reshape(3, 12, 32), expected["logits"], rtol=1e-4, atol=1e-4)


def test_both_formats_hold_the_same():
    ours, theirs = (read_export((DATA / name).read_bytes(), name) for name in FILES)
    assert ours == theirs
    assert ours.platforms == ["cpu", "cuda", "rocm", "tpu"]
    assert read_export(write_export(ours), "again") == ours
    assert read_export(write_jax_export(theirs), "again") == theirs


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ([np.zeros((3, 12), np.float32)], TypeError, r"args\[0\] .* int32\[3,12\], got float32"),
        ([np.zeros((2, 12), np.int32)], TypeError, r"must be of type int32\[3,12\], got int32\[2"),
        (["tokens"], TypeError, r"must be an array of type int32\[3,12\], got 'tokens'"),
        ([], ValueError, r"takes the arguments \(args\[0\]: int32\[3,12\]\)"),
    ],
)
def test_wrong_arguments_are_named(arguments, error, words):
    predict = _loaded()
    with pytest.raises(error, match=words):
        predict(*arguments)
    assert predict(np.zeros((3, 12), np.int32))["logits"].shape == (3, 12, 32)


_cache = []


def _loaded():
    if not _cache:
        _cache.append(load(DATA / "flax.export"))
    return _cache[0]


def test_load_raises_on_unsuitable_devices(tmp_path):
    here = DATA / "flax.export"
    with pytest.raises(FileError, match=r"exported for 1 devices, and there are 2 to run it on"):
        load(here, devices=[devices()[0]] * 2)
    record = read_export(here.read_bytes(), here)
    absent = "tpu" if devices()[0].platform != "tpu" else "cpu"
    other = write_export(_changed(record, platforms=[absent], uses_global_constants=False))
    with pytest.raises(FileError, match=rf"^the bytes: .* platforms {absent}, and is loaded"):
        load(other)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "missing.export")
    damaged = write_export(_changed(record, module=record.module[:200]))
    with pytest.raises(FileError, match="not portable StableHLO|does not compile"):
        load(damaged)


@pytest.mark.parametrize(
    "changes",
    [
        {"kept_args": [1]},
        {"kept_args": [0, 0]},
        {"out_shardings": []},
        {"nr_devices": 0},
        {"platforms": []},
    ],
    ids=str,
)
def test_inconsistent_records_are_refused(changes):
    record = read_export((DATA / "flax.export").read_bytes(), "flax.export")
    with pytest.raises(FileError, match="^altered: the record of '<lambda>'"):
        read_export(write_export(_changed(record, **changes)), "altered")


def test_trees_that_do_not_fit_their_types_are_refused():
    record = read_export((DATA / "flax.export").read_bytes(), "flax.export")
    altered = write_export(_changed(record, in_types=[], in_shardings=[], kept_args=[]))
    with pytest.raises(FileError, match="^the bytes: .* has 0 types for 1 arguments"):
        load(altered)


def _changed(record, **changes):
    values = {name: getattr(record, name) for name in record.__struct_fields__}
    return type(record)(**{**values, **changes})
