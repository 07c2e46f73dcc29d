from dataclasses import dataclass

import pytest

from evade.errors import ConfigError
from evade.kinds import KindSettings, find_kind
from evade.policies.settings import ActorCriticConfig, LearnerConfig, PolicyConfig, PPOConfig
from evade.world_models.settings import DeterministicConfig, WorldModelConfig


class Engine(KindSettings, family="engine"):
    """A family of two kinds."""


@dataclass(frozen=True)
class Steam(Engine, kind="steam"):
    pressure: float = 1.0


@dataclass(frozen=True)
class Electric(Engine, kind="electric"):
    volts: int = 24


class Brake(KindSettings, family="brake"):
    """Another family."""


@dataclass(frozen=True)
class Disc(Brake, kind="steam"):
    """A kind with the same name in another family."""


def test_a_family_lists_its_own_kinds_by_name():
    assert Engine.kinds == {"steam": Steam, "electric": Electric}
    assert Brake.kinds == {"steam": Disc}
    assert (Steam().kind, Steam().family) == ("steam", "engine")
    assert (Electric.kind, Electric.family) == ("electric", "engine")
    assert (Disc.kind, Disc.family) == ("steam", "brake")


def test_kinds_are_found_by_name_within_their_family():
    assert find_kind(Engine, "steam") is Steam
    assert find_kind(Engine, "electric") is Electric
    assert find_kind(Brake, "steam") is Disc


@pytest.mark.parametrize("kind", ["diesel", "", None, 3, ["steam"]])
def test_an_unknown_kind_names_field_value_choices_and_what_to_do(kind):
    with pytest.raises(ConfigError) as caught:
        find_kind(Engine, kind)
    message = str(caught.value)
    assert message.startswith(f"Invalid engine.kind = {kind!r}: must be one of steam, electric.")
    assert "Import the module that defines another kind" in message


def test_two_classes_cannot_have_the_same_kind():
    with pytest.raises(ConfigError, match="Invalid engine kind 'steam': Steam has that name already"):

        class Kettle(Engine, kind="steam"):
            pass

    assert Engine.kinds["steam"] is Steam


def test_a_module_can_be_imported_again():
    again = type("Steam", (Engine,), {"__qualname__": "Steam"}, kind="steam")
    assert find_kind(Engine, "steam") is again
    Engine.kinds["steam"] = Steam


def test_a_subclass_without_a_kind_is_not_listed():
    class HighPressure(Steam):
        pass

    assert HighPressure.kind == "steam"
    assert HighPressure not in Engine.kinds.values()
    assert Engine.kinds["steam"] is Steam


def test_the_kinds_of_this_package():
    assert find_kind(WorldModelConfig, "deterministic") is DeterministicConfig
    assert find_kind(PolicyConfig, "actor-critic") is ActorCriticConfig
    assert find_kind(LearnerConfig, "ppo") is PPOConfig
    assert (WorldModelConfig.family, PolicyConfig.family, LearnerConfig.family) == ("world_model", "policy", "learner")
