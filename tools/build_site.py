"""Build the site, check its links, print the times of its notebooks, and take pictures of it.

    python tools/build_site.py                 all of it; a warning is an error
    python tools/build_site.py --external      follow links to other hosts, too
    python tools/build_site.py --quick         without the reference, and without pictures

`nox -s docs` runs this in an environment that holds the built wheels. The site is
`docs/_build/html`, the pictures lie in `docs/_build/pictures`.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from site_links import broken_links
from site_pictures import take_pictures

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
BUILD = DOCS / "_build"


def sphinx(builder: str, *options: str) -> int:
    """Run Sphinx with warnings as errors, and return its exit status."""
    command = [sys.executable, "-m", "sphinx", "-b", builder, "-W", "--keep-going", "-n", "-q"]
    folders = ["-d", str(BUILD / "doctrees"), str(DOCS), str(BUILD / builder)]
    return subprocess.run([*command, *options, *folders], check=False).returncode


def main(arguments: list[str]) -> int:
    """Build and check; return 0 if all is well."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--external", action="store_true", help="follow links to other hosts")
    parser.add_argument("--quick", action="store_true", help="leave out reference and pictures")
    asked = parser.parse_args(arguments)
    if asked.quick:
        return sphinx("html", "-D", "ricci_reference=0", "-D", "nitpicky=0")
    failed = sphinx("html")
    if failed:
        return failed
    broken = broken_links(BUILD / "html")
    for line in broken:
        print(line)
    wrong = take_pictures(BUILD / "html", BUILD / "pictures")
    if asked.external:
        failed = sphinx("linkcheck")
    print(f"the site: {BUILD / 'html' / 'index.html'}")
    return int(bool(failed or broken or wrong))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
