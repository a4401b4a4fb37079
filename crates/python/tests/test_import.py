"""What `import ackclock` takes, and what it leaves alone."""

import resource
import subprocess
import sys

# Interpreter and package, beside the interpreter alone.
RATIO = 6


def took(code):
    """The processor time of an interpreter that runs this, s: waiting for a busy machine is not in it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_it_is_imported_quickly():
    alone, imported = zip(*[(took("pass"), took("import ackclock")) for _ in range(5)], strict=True)
    assert min(imported) < RATIO * min(alone), (alone, imported)


def test_it_imports_no_other_package():
    code = """
import sys
before = {*sys.modules}
import ackclock
print(*{name.split(".")[0] for name in sys.modules.keys() - before} - {*sys.stdlib_module_names} - {"ackclock"})
"""
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ran.stdout.split() == []
