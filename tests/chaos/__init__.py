"""Attacks on runs and commands, with a table of what went wrong. `make chaos` runs all of them."""
