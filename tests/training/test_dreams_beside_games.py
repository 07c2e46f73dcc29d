"""What a model dreams where the game is known is not unknown: it counts as seen before the draw."""

from dataclasses import replace

import pytest
import torch

from evade.config.presets import build_config
from evade.errors import ConfigError
from evade.runs.folder import RunFolder
from evade.training.algorithm import train
from evade.training.run import Run


def train_smoke(path, variant, beside_games):
    """The final state of one iteration of preset `smoke`."""
    config = build_config("smoke", variant, "minatar/seaquest")
    config = replace(
        config,
        schedule=replace(config.schedule, iterations=1),
        dream=replace(config.dream, beside_games=beside_games),
    )
    with Run(config, RunFolder(path)) as run:
        return train(run)


def test_events_of_these_dreams_count_as_seen(tmp_path):
    without, with_dreams = (train_smoke(tmp_path / str(count), "evade", count) for count in (0, 3))
    before, after = (state.world_model.event_prior for state in (without, with_dreams))
    assert (after.counts >= before.counts).all()
    # A model that was hardly fitted shows objects that the game never shows.
    assert ((after.counts > 0) & (before.counts == 0)).any()
    assert (after.sigma <= before.sigma).all()
    # Nothing else of the model is touched, and the noise of the draw is the same.
    trained = dict(with_dreams.world_model.named_parameters())
    assert all(torch.equal(value, trained[name]) for name, value in without.world_model.named_parameters())
    assert without.draw.value == with_dreams.draw.value


def test_an_agent_without_draws_learns_the_same(tmp_path):
    policies = [train_smoke(tmp_path / str(count), "simple", count).policy.state_dict() for count in (0, 3)]
    assert all(torch.equal(value, policies[1][name]) for name, value in policies[0].items())


def test_a_negative_number_is_refused():
    with pytest.raises(ConfigError, match=r"dream.beside_games = -1: must not be negative"):
        replace(build_config("smoke").dream, beside_games=-1)
