"""Parameters and results that are annotated `Any` are counted, and their number may not grow."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from any_annotations import CEILINGS, Place, found, problems  # noqa: E402

TEXT = """
def plain(x: Any, /, y: int, *args: Any, z: "Any" = None, **kwargs: typing.Any) -> Any:
    local: Any = x
    return local


class C:
    field: Any

    async def method(self, x: dict[str, Any]) -> "Any":
        def inner(x: Any) -> None: ...
"""


def test_each_kind_of_parameter_and_the_result_count():
    names = [place.name for place in found(TEXT) if place.function == "plain"]
    assert sorted(names) == ["**kwargs", "*args", "return", "x", "z"]


def test_methods_and_inner_functions_count_by_their_names():
    assert Place(11, "C.method.inner", "x") in found(TEXT)
    assert Place(10, "C.method", "return") in found(TEXT)


def test_containers_of_any_do_not_count():
    assert found("def f(x: list[Any], y: Callable[..., Any]) -> tuple[Any, ...]: ...") == []


def test_a_number_that_grows_fails():
    assert problems("x", 4, 4) == []
    assert problems("x", 3, 4) == []
    assert "5 parameters and results" in problems("x", 5, 4)[0]


def test_ceilings_name_packages():
    assert set(CEILINGS) <= {path.parent.name for path in ROOT.glob("packages/*/src")}
