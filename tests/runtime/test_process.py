"""Settings that the command makes before torch is imported."""

import os
import subprocess
import sys

import pytest

# Importing the command's module must not import torch, or the settings would have no effect.
PROGRAM = """
import os, sys
import evade.cli.main
assert "torch" not in sys.modules
try:
    evade.cli.main.main(["--help"])
except SystemExit:
    pass
assert "torch" not in sys.modules
print({name: os.environ[name] for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT") if name in os.environ})
"""


CHOICES = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "1000"}),
        ({"GOMP_SPINCOUNT": "0"}, {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "0"}),
        ({"OMP_WAIT_POLICY": "ACTIVE"}, {"OMP_WAIT_POLICY": "ACTIVE"}),
        ({"OMP_WAIT_POLICY": "PASSIVE"}, {"OMP_WAIT_POLICY": "PASSIVE"}),
    ],
)
def test_idle_threads_sleep_soon_unless_the_user_sets_it(given, expected):
    environment = {name: value for name, value in os.environ.items() if name not in CHOICES} | given
    result = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1] == str(expected)


def test_freed_memory_is_kept():
    program = """
import resource
from evade.runtime.process import prepare_process
prepare_process()
import torch
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    torch.ones(8 << 20)
before = faults()
for _ in range(20):
    torch.ones(8 << 20)
print(faults() - before)
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    # 20 x 32 MB in fresh pages of 4 KB would be 160,000.
    assert int(result.stdout) < 2000, result.stderr
