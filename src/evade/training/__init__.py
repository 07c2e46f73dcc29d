"""Algorithm 1: its phases, the state that is saved, and a run from its start to its end."""
