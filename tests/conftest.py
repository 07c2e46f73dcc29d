import os

# The same arithmetic on every x86 processor: with AVX-512 convolutions round differently, enough to be seen after three
# updates of Adafactor. And some virtual machines offer AMX tiles and lose them: bfloat16 products then end in "Illegal
# instruction". Torch reads this when it is imported.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX2")

import pytest
import torch
from hypothesis import settings

from chromium import CHROMIUM
from evade.native import load_library

# Several test processes share the cores; a spinning pool of threads in each would only slow all of them down.
torch.set_num_threads(1)

# For the same reason no example is refused for the time it took: how long that is depends on who else is running.
settings.register_profile("shared cores", deadline=None)
settings.load_profile("shared cores")


@pytest.fixture
def fresh_library():
    """Libraries are looked for anew in this test, and again after it."""
    load_library.cache_clear()
    yield
    load_library.cache_clear()


def pytest_collection_modifyitems(config, items):
    if CHROMIUM is None and (left_out := [item for item in items if item.get_closest_marker("browser")]):
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    # Begun last, one of them would keep one core busy while the others have nothing left to do.
    items.sort(key=lambda item: item.get_closest_marker("slow_first") is None)


def pytest_terminal_summary(terminalreporter):
    if CHROMIUM is None:
        terminalreporter.write_line("The browser tests were left out: there is no chromium here.")
