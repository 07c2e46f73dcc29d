"""How the process uses the machine: device, threads, compilation, and what `evade doctor` examines."""
