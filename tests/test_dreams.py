import numpy as np
import pytest
import torch

from evade.config import EVADE, GameSpec, WorldModelConfig
from evade.dreams import DreamEnv
from evade.envs.games import MINATAR
from evade.envs.minatar import MinAtarGame
from evade.layers import draw
from evade.policies.rollout import roll_out
from evade.records import Prediction
from evade.world_models import build_world_model
from fake_worlds import PerfectModel, ScriptedPolicy, twin


@pytest.mark.parametrize("name", [game.id for game in MINATAR])
def test_with_a_perfect_world_model_the_dream_is_the_game(name):
    games = []
    for seed in range(3):
        game = MinAtarGame(name)
        game.reset(seed=seed)
        for action in (1, 2, 1):
            game.step(action)
        games.append(game)
    start = torch.stack([torch.from_numpy(game._frame()) for game in games]).unsqueeze(1)
    dream = DreamEnv(PerfectModel([twin(game) for game in games]), 3, lambda count: start.repeat(2, 1, 1, 1, 1))
    observation = dream.reset()
    assert torch.equal(observation, start)
    rng = np.random.default_rng(0)
    alive = [True] * 3
    for _ in range(60):
        actions = rng.integers(0, games[0].action_space.n, 3)
        step = dream.step(torch.from_numpy(actions))
        for index, game in enumerate(games):
            if alive[index]:
                frame, reward, terminated, _, _ = game.step(int(actions[index]))
                assert step.reward[index] == reward
                assert step.terminated[index] == terminated
                alive[index] = not terminated
                expected = torch.from_numpy(frame) if alive[index] else start[index, 0]
                assert torch.equal(step.observation[index, -1], expected)
    assert not any(alive) or name in ("freeway", "seaquest", "asterix", "space_invaders")


class Counter:
    """The next frame's only cell is the last one's plus 1; the game ends at 5."""

    def predict(self, observation, action):
        frame = observation[:, -1] + 1
        value = frame.flatten(1)[:, 0]
        return Prediction(frame, value.float(), value == 5)


def counter_starts(count):
    starts = torch.zeros(count, 2, 1, 1, 1, dtype=torch.uint8)
    starts[:, 1] = 1
    starts[count // 2 :] = 0
    return starts


def test_frames_are_stacked_and_ended_dreams_start_again_from_their_second_start():
    dream = DreamEnv(Counter(), 2, counter_starts)
    assert dream.reset().flatten(1).tolist() == [[0, 1]] * 2
    seen = [dream.step(torch.zeros(2, dtype=torch.long)) for _ in range(6)]
    stacks = [step.observation[0].flatten().tolist() for step in seen]
    assert stacks == [[1, 2], [2, 3], [3, 4], [0, 0], [0, 1], [1, 2]]
    assert [step.terminated[0].item() for step in seen] == [False, False, False, True, False, False]
    assert not any(step.truncated.any() for step in seen)


def test_a_rollout_is_closed_by_the_value_of_where_it_leads():
    rollout = roll_out(ScriptedPolicy([0] * 4, 2), DreamEnv(Counter(), 2, counter_starts), 3, torch.Generator())
    assert rollout.observation[:, 0].flatten(1).tolist() == [[0, 1], [1, 2], [2, 3]]
    assert rollout.value[:, 0].tolist() == [1, 2, 3]
    assert rollout.next_value[:, 0].tolist() == [2, 3, 4]
    assert rollout.reward[:, 0].tolist() == [2, 3, 4]
    torch.testing.assert_close(rollout.log_prob, torch.zeros(3, 2))


class Echo:
    """Shows the action that happened."""

    def predict(self, observation, action):
        frame = action.to(torch.uint8)[:, None, None, None]
        return Prediction(frame, action.float(), torch.zeros_like(action, dtype=torch.bool))


def test_a_sticky_dream_repeats_the_action_that_happened_before():
    count, steps, chance = 4000, 6, 0.3
    starts = torch.zeros(2 * count, 1, 1, 1, 1, dtype=torch.uint8)
    dream = DreamEnv(
        Echo(), count, lambda _: starts, sticky_probability=chance, generator=torch.Generator().manual_seed(0)
    )
    dream.reset()
    happened = [dream.step(torch.full((count,), chosen)).reward for chosen in range(steps)]
    assert (happened[0] == 0).all(), "there is nothing to repeat at the first step"
    for chosen in range(1, steps):
        repeated = happened[chosen] != chosen
        assert torch.equal(happened[chosen][repeated], happened[chosen - 1][repeated])
        assert abs(repeated.float().mean() - chance) < 5 * (chance * (1 - chance) / count) ** 0.5


def test_a_new_dream_does_not_remember_the_last_one():
    dream = DreamEnv(Echo(), 64, lambda _: torch.zeros(128, 1, 1, 1, 1, dtype=torch.uint8), sticky_probability=0.9)
    dream.reset()
    dream.step(torch.full((64,), 3))
    dream.reset()
    assert (dream.step(torch.full((64,), 1)).reward == 1).all()


def test_nothing_inside_a_dream_rollout_waits_for_the_host(monkeypatch):
    game = GameSpec(channels=4, height=10, width=10, levels=2, num_actions=6)
    config = WorldModelConfig(num_frames=1, hidden_size=8, depth=2, predicts_end=True, event_layers=EVADE)
    model = build_world_model(config, game).eval()
    draw(model)
    env = DreamEnv(model, 4, lambda count: torch.zeros(count, 1, 4, 10, 10, dtype=torch.uint8))
    policy = ScriptedPolicy([0] * 9, 6)

    def refuse(*arguments):
        raise AssertionError("a tensor was read on the host")

    for name in ("item", "cpu", "tolist", "numpy", "__bool__", "__int__", "__float__"):
        monkeypatch.setattr(torch.Tensor, name, refuse)
    roll_out(policy, env, 3, torch.Generator())
