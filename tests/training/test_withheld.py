"""The withheld-event test, small but real: MinAtar Breakout with the event prior, and without it."""

from dataclasses import replace

import pytest
import torch

from evade.config.presets import build_config
from evade.envs import spec
from evade.errors import RunError
from evade.policies.acting import RandomPolicy
from evade.records import Transitions
from evade.training.policy_distance import measure_policy_distance
from evade.training.posterior import compare_policies, group_events
from evade.training.withheld import WithheldPlan, measure_withheld, play_at_random
from toy_agent import Preferences, TableModel, toy_config

PLAN = WithheldPlan(sightings=(0, 20), num_updates=60, num_draws=8, max_asked=64)


@pytest.fixture(scope="module")
def breakout():
    config = build_config("minatar", "evade", "minatar/breakout")
    game = spec(config.game, config.env)
    return config, game, play_at_random(config, game, 4800, seed=3)


def test_random_play_is_reproducible_and_has_events(breakout):
    config, game, replay = breakout
    again = play_at_random(config, game, 4800, seed=3)
    assert len(replay.fit_windows) == 4800
    whole, other = (each.gather(each.fit_windows) for each in (replay, again))
    assert torch.equal(whole.next_frame, other.next_frame)
    assert 60 < int((whole.reward != 0).sum()) < 600


@pytest.mark.slow_first
def test_the_event_prior_detects_what_was_withheld_and_forgets_it_once_seen(breakout):
    config, game, replay = breakout
    world_model = config.world_model.with_prior_scale(0.3)
    # Without the event layers' own noise, whose spread on events is the larger the less sure the network is.
    config = replace(config, world_model=replace(world_model, reward=replace(world_model.reward, sigma_init=0.0)))
    # Enough updates to predict frames and rewards: the prior looks at what the model predicts.
    result = measure_withheld(config, game, replay, replace(PLAN, num_updates=600))
    unseen, seen = result.sightings
    assert (unseen.num_seen, seen.num_seen, unseen.truth) == (0, 20, 1.0)
    assert unseen.auc > 0.9
    assert unseen.spread > 0.02
    assert unseen.spread > 10 * unseen.ordinary_spread
    assert seen.spread < unseen.spread / 3
    assert {group.name for group in unseen.groups} >= {"reward +1", "channels 1 and 3 meet"}


def test_without_the_prior_draws_agree_about_what_they_never_saw(breakout):
    config, game, replay = breakout
    config = replace(config, world_model=config.world_model.with_prior_scale(0.0))
    unseen = measure_withheld(config, game, replay, replace(PLAN, sightings=(0,))).sightings[0]
    assert unseen.spread < 0.01


def test_no_event_is_ever_fitted_to_unless_it_is_shown(breakout, monkeypatch):
    config, game, replay = breakout
    rewards = []
    batch = type(replay).batch

    def watch(self, generator):
        found = batch(self, generator)
        rewards.append(int((found.reward != 0).sum()))
        return found

    monkeypatch.setattr(type(replay), "batch", watch)
    measure_withheld(config, game, replay, replace(PLAN, num_updates=10))
    assert sum(rewards[:10]) == 0
    assert sum(rewards[10:]) > 0


def test_too_few_events_are_named():
    config = build_config("minatar", "evade", "minatar/freeway")
    game = spec(config.game, config.env)
    with pytest.raises(RunError, match=r"has \d+ rewarded transitions of 320, and the test needs at least 20"):
        measure_withheld(config, game, play_at_random(config, game, 320, seed=0), PLAN)


def test_groups_are_by_reward_meeting_and_place():
    frames = torch.zeros(12, 1, 2, 6, 6, dtype=torch.uint8)
    frames[:, 0, 0, 0, 0] = 1  # channel 0, top left
    frames[:6, 0, 1, 1, 1] = 1  # channel 1 beside it in the first six
    frames[6:, 0, 1, 5, 5] = 1
    reward = torch.tensor([1] * 7 + [-1] * 5)
    zeros = torch.zeros(12, dtype=torch.long)
    groups = group_events(Transitions(frames, zeros, frames[:, 0], reward, zeros.bool()))
    assert {name: int(members.sum()) for name, members in groups.items()} == {
        "reward -1": 5,
        "reward +1": 7,
        "channels 0 and 1 meet": 6,
        "channel 0 top left": 12,
    }


def test_the_distance_of_policies_is_total_variation():
    class Certain(RandomPolicy):
        def forward(self, observation):
            output = super().forward(observation)
            output.logits[:, 0] = 1e4
            return output

    frames = torch.zeros(3, 1, 1, 1, 1, dtype=torch.uint8)
    assert compare_policies(RandomPolicy(4), RandomPolicy(4), frames) == 0
    assert compare_policies(RandomPolicy(4), Certain(4), frames) == pytest.approx(0.75)


def test_a_model_without_draws_trains_the_same_policy_whatever_is_drawn():
    config = toy_config()
    game = spec(config.game, config.env)
    replay = play_at_random(config, game, 400, seed=1)
    model = TableModel(config.world_model, game, 2).eval()
    policy = Preferences(config.policy, game, 2)
    found = measure_policy_distance(config, model, policy, replay, num_batches=2, num_draws=2, seed=0)
    assert (found.disagreement, found.between_draws) == (0, 0)
