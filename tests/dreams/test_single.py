"""One dream as a Gymnasium environment: the predictions of `DreamEnv`, bit for bit."""

import numpy as np
import pytest
import torch

from evade.dreams.env import DreamEnv
from evade.dreams.single import SingleDream
from evade.envs.minatar import MinAtarGame
from evade.envs.settings import EnvConfig
from evade.errors import ActionError, ConfigError, ResetNeeded
from evade.game_spec import GameSpec
from evade.layers import draw
from evade.records import Prediction
from evade.world_models.build import build_world_model
from evade.world_models.settings import DeterministicConfig, RewardPathConfig
from fake_worlds import PerfectModel, twin
from toy_agent import NUM_CELLS, TableConfig

CPU = torch.device("cpu")
BREAKOUT = GameSpec(channels=4, height=10, width=10, levels=2, num_actions=3, lowest_reward=0)
CORRIDOR = GameSpec(channels=1, height=1, width=NUM_CELLS, levels=2, num_actions=2)
ACTIONS = [1, 2, 0, 1, 1, 2, 2, 0, 1, 2] * 3


def always(start):
    return lambda _: start


def event_model():
    config = DeterministicConfig(
        hidden_size=8,
        depth=2,
        num_doublings=0,
        num_middle_layers=1,
        reward=RewardPathConfig(event_layers=("translation", "weighting", "interaction"), estimate="expected"),
    )
    torch.manual_seed(0)
    model = build_world_model(config, BREAKOUT, 4).eval()
    draw(model, torch.Generator().manual_seed(1))
    return model, torch.randint(0, 2, (1, 4, 4, 10, 10), dtype=torch.uint8)


def sampling_model():
    """One that samples its frames and carries memory, and never ends."""
    model = build_world_model(TableConfig(smoothing=1.0), CORRIDOR, EnvConfig(num_frames=2).num_frames)
    model.rewards += torch.rand(model.rewards.shape, generator=torch.Generator().manual_seed(2))
    start = torch.zeros(1, 2, 1, 1, NUM_CELLS, dtype=torch.uint8)
    start[..., 2] = 1
    return model, start


@pytest.mark.parametrize("sticky", [0.0, 0.5])
@pytest.mark.parametrize(("build", "game"), [(event_model, BREAKOUT), (sampling_model, CORRIDOR)])
def test_it_predicts_what_a_dream_env_predicts(build, game, sticky):
    model, start = build()
    generator = torch.Generator().manual_seed(5)
    many = DreamEnv(
        model, 1, lambda count: start.repeat(count, 1, 1, 1, 1), sticky_probability=sticky, generator=generator
    )
    one = SingleDream(model, game, start.shape[1], always(start), horizon=99, sticky_probability=sticky, device=CPU)
    observation, _ = one.reset(seed=5)
    assert np.array_equal(observation, many.reset()[0].numpy())
    for action in ACTIONS:
        expected = many.step(torch.tensor([action % game.num_actions]))
        observation, reward, terminated, truncated, _ = one.step(action % game.num_actions)
        assert np.array_equal(observation, expected.observation[0].numpy())
        assert reward == expected.reward.item()
        assert (terminated, truncated) == (False, False)


def test_it_ends_with_the_game_and_shows_the_last_frame():
    game = MinAtarGame("breakout")
    frame, _ = game.reset(seed=3)
    start = torch.from_numpy(frame)[None, None]
    dream = SingleDream(PerfectModel([twin(game)]), BREAKOUT, 1, always(start), horizon=500, device=CPU)
    dream.reset()
    for _ in range(500):
        frame, reward, terminated, _, _ = game.step(1)
        observation, predicted, is_over, is_cut, _ = dream.step(1)
        assert np.array_equal(observation[-1], frame)
        assert (predicted, is_over, is_cut) == (reward, terminated, False)
        if terminated:
            return
    pytest.fail("the game did not end")


class Still:
    """Nothing moves; the game ends at a given step, if at all."""

    def __init__(self, last=None):
        self.num_steps, self.last = 0, last

    def initial_memory(self, observation):
        return ()

    def sample_noise(self, batch_size, generator):
        return ()

    def predict(self, observation, action, memory=(), noise=()):
        self.num_steps += 1
        return Prediction(observation[:, -1], torch.tensor([0.25]), torch.tensor([self.num_steps == self.last]))


@pytest.mark.parametrize(("last", "ends"), [(None, (False, True)), (4, (True, False))])
def test_it_is_cut_off_at_the_horizon_unless_it_ends_there(last, ends):
    start = torch.zeros(1, 2, 1, 1, NUM_CELLS, dtype=torch.uint8)
    dream = SingleDream(Still(last), CORRIDOR, 2, always(start), horizon=4, device=CPU)
    dream.reset()
    steps = [dream.step(np.int64(0)) for _ in range(4)]
    assert [step[2:4] for step in steps] == [(False, False)] * 3 + [ends]
    assert all(step[1] == 0.25 for step in steps)


def test_mistakes_are_named():
    start = torch.zeros(1, 2, 1, 1, NUM_CELLS, dtype=torch.uint8)
    with pytest.raises(ConfigError, match="Invalid horizon = 0: must be at least 1"):
        SingleDream(Still(), CORRIDOR, 2, always(start), horizon=0, device=CPU)
    dream = SingleDream(Still(), CORRIDOR, 2, always(start), horizon=1, device=CPU)
    with pytest.raises(ResetNeeded, match="call reset"):
        dream.step(0)
    dream.reset()
    with pytest.raises(ActionError, match="Invalid action 2: must be 0 to 1"):
        dream.step(2)
