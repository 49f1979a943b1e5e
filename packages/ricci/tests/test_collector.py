"""The garbage collector and the import: imported objects are not walked while they are young."""

import subprocess
import sys

PROGRAM = """
import gc, weakref
class Node: pass
node = Node()
node.itself, seen = node, weakref.ref(node)
kept = [[i] for i in range(5000)]
{before}
import ricci
print(len(gc.get_objects(0)) + len(gc.get_objects(1)), gc.get_threshold(), gc.get_freeze_count())
del node
gc.collect()
print(seen() is None)
"""


def run(before: str = "") -> tuple[list[str], str]:
    program = PROGRAM.format(before=before)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    return first.replace("(", "").replace(")", "").replace(",", "").split(), second


def test_imported_objects_are_old_and_can_be_collected():
    (young, *threshold, frozen), collected = run()
    assert int(young) < 1000
    assert threshold == ["700", "10", "10"] or sys.version_info >= (3, 13)
    assert (frozen, collected) == ("0", "True")


def test_objects_frozen_by_the_program_stay_frozen():
    (*_, frozen), collected = run("gc.freeze()")
    assert int(frozen) > 5000
    assert collected == "False"
