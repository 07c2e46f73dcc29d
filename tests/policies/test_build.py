import re
from dataclasses import dataclass

import pytest

from evade.errors import ConfigError
from evade.game_spec import GameSpec
from evade.kinds import find_kind
from evade.optimisers import TensorFlowAdam
from evade.policies import build
from evade.policies.build import build_learner, build_policy, register_learner, register_policy
from evade.policies.network import ActorCritic
from evade.policies.ppo import PPO
from evade.policies.settings import ActorCriticConfig, LearnerConfig, PolicyConfig, PPOConfig

GAME = GameSpec(channels=4, height=10, width=10, levels=2, num_actions=6)


@dataclass(frozen=True)
class SearchConfig(PolicyConfig, kind="test-search"):
    pass


@dataclass(frozen=True)
class CloneConfig(LearnerConfig, kind="test-clone"):
    pass


@pytest.fixture(autouse=True)
def no_other_kinds(monkeypatch):
    for registry in ("_POLICIES", "_LEARNERS"):
        monkeypatch.setattr(build, registry, dict(getattr(build, registry)))


def test_an_actor_critic_and_its_ppo():
    policy = build_policy(ActorCriticConfig(filters=(4,), hidden_size=8), GAME, num_frames=3)
    assert isinstance(policy, ActorCritic)
    assert (policy.num_frames, policy.in_channels, policy.levels) == (3, 12, 2)
    assert policy.action_head.out_features == 6
    learner = build_learner(PPOConfig(learning_rate=0.25), policy)
    assert isinstance(learner, PPO)
    assert learner.policy is policy
    assert isinstance(learner.optimiser, TensorFlowAdam)
    assert learner.optimiser.param_groups[0]["lr"] == 0.25
    assert [p for group in learner.optimiser.param_groups for p in group["params"]] == list(policy.parameters())


def test_kinds_from_outside_the_package_are_built_by_their_own_functions():
    register_policy(SearchConfig, lambda *arguments: ("policy", *arguments))
    register_learner(CloneConfig, lambda *arguments: ("learner", *arguments))
    assert build_policy(SearchConfig(), GAME, 2) == ("policy", SearchConfig(), GAME, 2)
    assert build_learner(CloneConfig(), "a policy") == ("learner", CloneConfig(), "a policy")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            lambda: build_policy(SearchConfig(), GAME, 1),
            "Invalid policy.kind = 'test-search': SearchConfig is not registered. "
            "Call evade.policies.build.register_policy for it first.",
        ),
        (
            lambda: build_learner(CloneConfig(), None),
            "Invalid learner.kind = 'test-clone': CloneConfig is not registered. "
            "Call evade.policies.build.register_learner for it first.",
        ),
        (lambda: build_policy(PolicyConfig(), GAME, 1), "Invalid policy.kind = None: PolicyConfig is not registered."),
    ],
)
def test_an_unregistered_class_names_the_field_and_what_to_do(make, said):
    with pytest.raises(ConfigError, match=re.escape(said)):
        make()


@pytest.mark.parametrize(
    ("family", "said"),
    [
        (PolicyConfig, "Invalid policy.kind = 'mcts': must be one of actor-critic.*Import the module that defines"),
        (LearnerConfig, "Invalid learner.kind = 'mcts': must be one of ppo.*Import the module that defines"),
    ],
)
def test_an_unknown_kind_names_the_field_and_what_to_do(family, said):
    with pytest.raises(ConfigError, match=said):
        find_kind(family, "mcts")
