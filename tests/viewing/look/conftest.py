import pytest

from evade.viewing.look.session import Session
from evade.viewing.look.source import DEMO, RunSource


@pytest.fixture(scope="session")
def source():
    """The run that comes with the package."""
    return RunSource(DEMO)


@pytest.fixture
def session(source):
    session = Session(source)
    yield session
    session.close()
