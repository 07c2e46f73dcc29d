import torch

from chromium import CHROMIUM

# Several test processes share the cores; a spinning pool of threads in each would only slow all of them down.
torch.set_num_threads(1)


def pytest_collection_modifyitems(config, items):
    if CHROMIUM is None and (left_out := [item for item in items if item.get_closest_marker("browser")]):
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def pytest_terminal_summary(terminalreporter):
    if CHROMIUM is None:
        terminalreporter.write_line("The browser tests were left out: there is no chromium here.")
