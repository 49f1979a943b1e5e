"""``python -m ricci.profile``: the data of a script's page, and the page in a browser."""

import html
import json
import os
import re
import shutil
import subprocess
import sys

import pytest

pytest.importorskip("ricci_xla", reason="profiles are recorded by the runtime")

from ricci.profile import main

SCRIPT = """\
import sys
import time
import numpy as np
import ricci as jax
import ricci.numpy as jnp
jax.config.update("jax_num_cpu_devices", 2)

def layer(w, x):
    return jnp.tanh(x @ w)

@jax.jit
def step(w, x):
    return jax.lax.fori_loop(0, 20, lambda i, x: layer(w, x), x).sum()

def main(n):
    w = jax.device_put(np.ones((300, 300), np.float32))
    for i in range(n):
        x = np.ones((200 + 50 * (i % 2), 300), np.float32)
        y = step(w, x)
        print(float(y))  # </script><!-- here it waits
    time.sleep(0.05)

print(len(jax.devices()), sys.argv[1:])
main(int(sys.argv[1]))
sys.exit(3)
"""


def line_of(text: str) -> int:
    return next(i for i, line in enumerate(SCRIPT.splitlines(), 1) if text in line)


def run(*arguments, cwd):
    environment = {k: v for k, v in os.environ.items() if k != "RICCI_NUM_CPU_DEVICES"}
    environment["XLA_FLAGS"] = ""
    command = [sys.executable, "-m", "ricci.profile", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment)


@pytest.fixture(scope="module")
def profiled(tmp_path_factory):
    """The exit status of the command, and the page."""
    folder = tmp_path_factory.mktemp("profile")
    (folder / "script.py").write_text(SCRIPT)
    return run("-o", "page.html", "script.py", 6, "--x", cwd=folder), folder / "page.html"


@pytest.fixture(scope="module")
def data(profiled):
    """The data in the page."""
    return json.loads(re.search(r"const D = (.*);\n", profiled[1].read_text())[1])


def row(data, text):
    (found,) = [x for x in data["lines"] if x["line"] == line_of(text)]
    return found


def test_script_runs_as_it_would_alone(profiled):
    ran, _ = profiled
    assert ran.stdout.splitlines()[0] == "2 ['6', '--x']"
    assert len(ran.stdout.splitlines()) == 7
    assert ran.returncode == 3
    assert ran.stderr.splitlines()[-1] == "ricci.profile: page.html"


def test_time_is_told_by_kind(data):
    assert data["ended"] == "exit status 3"
    assert sum(data["phases"].values()) == pytest.approx(data["seconds"], rel=0.01)
    assert all(data["phases"][kind] > 0 for kind in ("trace", "lower", "compile", "python"))
    lines = sum(sum(line["host"].values()) for line in data["lines"])
    assert lines + sum(v for k, v in data["outside"].items() if k != "idle") == pytest.approx(
        data["seconds"], rel=0.02
    )


def test_time_is_told_by_line(data):
    call, wait, traced = row(data, "y = step"), row(data, "float(y)"), row(data, "jnp.tanh")
    assert call["hits"] == wait["hits"] == 6
    assert call["host"]["compile"] > 0.5 * data["phases"]["compile"]
    assert call["run"] > 0.5 * data["device"]["busy"] > 0
    assert traced["host"]["trace"] > 0
    assert row(data, "time.sleep")["host"]["wait"] > 0.04
    assert {file["name"] for file in data["files"]} == {"script.py"}
    assert data["files"][0]["text"] == SCRIPT.splitlines()


def test_operations_have_lines_and_counts(data):
    first = data["operations"][0]
    assert first["program"] == "step"
    assert first["line"] == line_of("jnp.tanh")
    assert first["count"] == 6 * 20
    assert "dot_general" in first["path"]
    assert first["seconds"] == max(o["seconds"] for o in data["operations"])


def test_programs_and_why_they_were_traced_again(data):
    step = next(p for p in data["programs"] if p["name"] == "step")
    assert (step["traces"], step["lowers"], step["compiles"], step["runs"]) == (2, 2, 2, 6)
    (miss,) = data["misses"]
    assert (miss["name"], miss["line"]) == ("step", line_of("y = step"))
    assert miss["reasons"] == ["argument x is float32[250,300] now and was float32[200,300]"]


def test_page_asks_for_nothing_outside(profiled):
    text = profiled[1].read_text().split("const D =")[0]
    assert not re.findall(r"""(?:src|href)=["'](?!data:)|@import|url\(""", text)


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["bad.py"], 1, "ZeroDivisionError: division by zero"),
        (["quiet.py"], 0, "ricci.profile: profile.html"),
        (["-m", "package"], 4, "ricci.profile: profile.html"),
    ],
)
def test_scripts_that_end_otherwise(tmp_path, arguments, status, said):
    (tmp_path / "bad.py").write_text("def f():\n    1 / 0\nf()\n")
    (tmp_path / "quiet.py").write_text(
        "import cProfile, os\nos.chdir('/')\nwith cProfile.Profile():\n    x = 1\n"
    )
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("code = 4\n")
    (tmp_path / "package" / "__main__.py").write_text(
        "from . import code\nimport sys\nassert __name__ == '__main__'\nsys.exit(code)\n"
    )
    ran = run(*arguments, cwd=tmp_path)
    assert ran.returncode == status
    assert said in ran.stderr
    assert "_profile" not in ran.stderr  # frames of the command
    assert (tmp_path / "profile.html").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["no.py"], "no such file: no.py"),
        (["-m", "no.such"], "No module named 'no'"),
        (["-o", "a/b", __file__], "a/b is not a file in an existing folder"),
        (["-o", ".", __file__], ". is not a file in an existing folder"),
    ],
)
def test_missing_scripts_are_reported_before_running(
    tmp_path, monkeypatch, capsys, arguments, said
):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    assert capsys.readouterr().err == f"ricci.profile: {said}\n"
    assert not list(tmp_path.iterdir())


# In a browser

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
# The facts that each frame measures of itself, when all is drawn and a line was clicked.
PROBE = """
<script>
addEventListener("error", (e) => parent.postMessage({error: e.message}, "*"));
addEventListener("load", () => setTimeout(() => {
  const rows = (id) => document.querySelectorAll(`${id} tbody tr`).length;
  const clicked = document.querySelector("#lines tbody tr.to");
  clicked.click();
  const found = document.querySelector(".source tr.found");
  parent.postMessage({
    width: innerWidth,
    overflow: document.documentElement.scrollWidth - innerWidth,
    title: document.title, heading: document.querySelector("h1").textContent,
    badge: document.querySelector(".badge").textContent,
    facts: [...document.querySelectorAll(".fact b")].map((n) => n.textContent),
    lines: rows("#lines"), operations: rows("#operations"), programs: rows("#programs"),
    misses: document.querySelector("#misses").textContent,
    clicked: clicked.textContent, found: found && found.textContent,
    slowest: document.querySelector("#operations tbody td").textContent,
    drawn: document.querySelectorAll(".time svg path").length,
    hidden: [...document.querySelectorAll("#lines td.what")]
      .filter((n) => n.offsetWidth < 100).length,
    requests: performance.getEntriesByType("resource").map((r) => r.name),
  }, "*");
}, 300));
</script>
"""
WIDTHS = (1280, 390)


@pytest.fixture(scope="module")
def shown(profiled, tmp_path_factory):
    """Measurements of the page in a browser, on a wide screen and a narrow one."""
    if BROWSER is None:
        pytest.skip("no Chromium is installed")
    folder = tmp_path_factory.mktemp("browser")
    copy = profiled[1].read_text().replace("<head>", "<head>" + PROBE, 1)
    (folder / "page.html").write_text(copy)
    frames = "".join(f'<iframe src="page.html" width={w} height=900></iframe>' for w in WIDTHS)
    (folder / "both.html").write_text(
        "<!DOCTYPE html><body><script>const said = [];\n"
        "addEventListener('message', (e) => { said.push(e.data);"
        " document.body.dataset.said = JSON.stringify(said); });</script>" + frames
    )
    command = [
        BROWSER,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        f"--user-data-dir={folder / 'data'}",
        "--virtual-time-budget=5000",
        "--window-size=1400,1000",
        "--dump-dom",
        (folder / "both.html").as_uri(),
    ]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120)
    said = re.search(r'data-said="([^"]*)"', ran.stdout)
    assert said is not None, ran.stderr[-2000:]
    found = json.loads(html.unescape(said[1]))
    assert not [message for message in found if "error" in message]
    return {message["width"]: message for message in found}


@pytest.mark.parametrize("width", WIDTHS)
def test_browser_shows_all_of_it(shown, data, width):
    found = shown[width]
    assert found["overflow"] <= 0
    assert found["requests"] == []
    assert found["heading"] == "script.py"
    assert found["title"] == "script.py · profile"
    assert found["badge"] == "exit status 3"
    assert len(found["facts"]) == 6
    assert not [fact for fact in found["facts"] if re.search("NaN|undefined|null", fact)]
    assert found["lines"] >= 8
    assert found["operations"] == min(20, len(data["operations"]))
    assert found["programs"] == len(data["programs"])
    assert "argument x is float32[250,300] now" in found["misses"]
    # The slowest line is that of the call, or under load one that is run while it is traced.
    number = int(re.search(r"(?<=s)\d+", found["found"])[0])
    source = SCRIPT.splitlines()[number - 1].strip()
    assert found["found"].endswith(source) and source in found["clicked"]
    assert "dot_general" in found["slowest"]
    assert "return jnp.tanh(x @ w)" in found["slowest"]
    assert found["drawn"] >= 5
    assert found["hidden"] == 0
