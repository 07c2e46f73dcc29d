import gymnasium
import pytest


@pytest.fixture
def register():
    """Register an environment for the length of one test: register(make, **its arguments) -> id."""
    made = []

    def add(entry_point, **kwargs):
        name = f"EvadeTest{len(made)}-v0"
        gymnasium.register(name, entry_point=entry_point, kwargs=kwargs)
        made.append(name)
        return name

    yield add
    for name in made:
        del gymnasium.registry[name]
