import subprocess
import sys

LIST_PACKAGES = """
import sys
before = set(sys.modules)
from evade.evidence.stats import estimate
# Cython registers modules without a file.
loaded = {name.partition(".")[0] for name in set(sys.modules) - before if getattr(sys.modules[name], "__file__", None)}
print(sorted(loaded - set(sys.stdlib_module_names)))
"""


REGISTRY = {"farama_notifications", "gymnasium", "typing_extensions"}
"""Gymnasium's, with which importing `evade` registers its environments."""


def test_importing_the_statistics_loads_numpy_alone():
    done = subprocess.run([sys.executable, "-c", LIST_PACKAGES], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(sorted({"evade", "numpy"} | REGISTRY))
