"""How the process uses the machine: threads, memory, compilation, and the checks of `evade doctor`."""
