"""The checks of a release, without building one."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import release  # noqa: E402
from workspace import PACKAGES, sdist, wheel  # noqa: E402


def fill(dist: Path) -> None:
    for package in PACKAGES:
        wheel(package, dist).touch()
        sdist(package, dist).touch()


def test_a_release_is_an_sdist_and_a_wheel_of_each_package(tmp_path: Path) -> None:
    fill(tmp_path)
    assert len(release.distributions(tmp_path)) == 2 * len(PACKAGES)


def test_missing_and_stale_files_are_named(tmp_path: Path) -> None:
    fill(tmp_path)
    wheel("nn", tmp_path).unlink()
    (tmp_path / "ricci_ir-0.0.1.tar.gz").touch()
    with pytest.raises(
        FileNotFoundError, match=r"ricci_ir-0\.0\.1\.tar\.gz, ricci_nn-.*nox -s build"
    ):
        release.distributions(tmp_path)


@pytest.mark.parametrize("package", PACKAGES)
def test_pip_requirements_are_pinned(package: str) -> None:
    assert release.requirement(package).endswith(wheel(package, ROOT).name.split("-")[1])


@pytest.mark.parametrize("arguments", [[], ["--check", "no-such-package"], ["--help"]])
def test_a_command_line_that_is_not_understood_does_nothing(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("check", "write"):
        monkeypatch.setattr(release, name, lambda *_: pytest.fail("something was done"))
    assert release.main(arguments) == 2


def test_a_package_that_fails_is_named_and_the_others_are_tried(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tried: list[str] = []

    def try_package(package: str, dist: Path, folder: Path) -> None:
        tried.append(package)
        if package == "ir":
            raise release.subprocess.CalledProcessError(1, ["pip"])

    monkeypatch.setattr(release, "try_package", try_package)
    monkeypatch.setattr(release, "distributions", lambda dist: [])
    monkeypatch.setattr(release.subprocess, "run", lambda *_, **__: None)
    assert release.check(["ir", "nn"]) == 1
    assert tried == ["ir", "nn"]
    assert "failed: ['ir']" in capsys.readouterr().out


def test_fragments_have_a_type_and_are_no_lists() -> None:
    for file in (ROOT / "changelog.d").glob("*.md"):
        kind, text = file.name.removesuffix(".md").rpartition(".")[2], file.read_text()
        assert kind in ("added", "changed", "fixed", "removed"), file
        assert text.strip() and not text.startswith(("-", "#")) and text.endswith("\n"), file
