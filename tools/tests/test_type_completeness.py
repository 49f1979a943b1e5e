"""The counts that pyright prints are compared with the floors."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from type_completeness import FLOORS, Floor, Found, counted, incomplete, problems  # noqa: E402

REPORT = {
    "typeCompleteness": {
        "exportedSymbolCounts": {"withKnownType": 7, "withAmbiguousType": 2, "withUnknownType": 1},
        "symbols": [
            {"name": "a.f", "diagnostics": []},
            {"name": "a.g", "diagnostics": [{"message": "Return type\n  is unknown"}]},
        ],
    }
}


def test_counts_are_read():
    assert counted(REPORT) == Found(known=7, ambiguous=2, unknown=1)
    assert counted(REPORT).typed == 70.0


def test_missing_annotations_are_named():
    assert incomplete(REPORT) == ["a.g: Return type is unknown"]


def test_a_package_at_its_floor_passes():
    assert problems("a", counted(REPORT), Floor(unknown=1, typed=70.0)) == []


def test_a_package_below_its_floor_fails():
    found = counted(REPORT)
    assert len(problems("a", found, Floor(unknown=0, typed=70.0))) == 1
    assert len(problems("a", found, Floor(unknown=1, typed=70.1))) == 1


def test_every_package_has_a_floor():
    packages = {folder.name for folder in (ROOT / "packages").glob("*/src/*") if folder.is_dir()}
    assert set(FLOORS) == {name for name in packages if not name.endswith(".egg-info")}
