import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from evade.config import EVADE, GameSpec, WorldModelConfig
from evade.config.presets import build_config
from evade.dreams.env import DreamEnv
from evade.envs.games import MINATAR
from evade.envs.minatar import MinAtarGame
from evade.layers import draw
from evade.policies import PolicyOutput, build_policy
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


class OperationLog(TorchDispatchMode):
    """Writes down every operation with the shapes of its results; refuses what would stop a captured graph."""

    FORBIDDEN = ("_local_scalar_dense", "is_nonzero", "nonzero", "masked_select", "unique", "equal", "item")

    def __init__(self):
        super().__init__()
        self.steps = [[]]

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function.name().removeprefix("aten::").partition(".")[0]
        assert not any(name == word or name.startswith(f"{word}_") for word in self.FORBIDDEN), name
        assert "device" not in (kwargs or {}) or name != "_to_copy", "a copy to another device"
        masks = [each for each in (args[1] if name == "index" else ()) if each is not None and each.dtype == torch.bool]
        assert not masks, "a mask's length is known only on the device"
        result = function(*args, **(kwargs or {}))
        tensors = result if isinstance(result, tuple | list) else [result]
        self.steps[-1].append((name, [tuple(each.shape) for each in tensors if isinstance(each, torch.Tensor)]))
        return result


@pytest.mark.parametrize("ends", [False, True])
def test_every_step_of_a_dream_is_the_same_operations_on_the_same_shapes(ends, monkeypatch):
    torch.manual_seed(0)
    game = GameSpec(channels=4, height=10, width=10, levels=2, num_actions=6)
    config = WorldModelConfig(
        num_frames=2, hidden_size=8, depth=2, predicts_end=True, event_layers=EVADE, sigma_init=0.5
    )
    model = build_world_model(config, game).eval()
    draw(model)
    torch.nn.init.constant_(model.end_head.output.bias, 100.0 if ends else -100.0)
    policy = build_policy(build_config("smoke").policy, game, 2)
    env = DreamEnv(model, 4, lambda count: torch.randint(0, 2, (count, 2, 4, 10, 10), dtype=torch.uint8))
    roll_out(policy, env, 1, torch.Generator())  # position signals are made at the first call
    log = OperationLog()
    reset, step = env.reset, env.step

    def unwatched_reset():
        # Start states come from the host, before the loop.
        with _disable_current_modes():
            return reset()

    def counted_step(action):
        log.steps.append([])
        return step(action)

    monkeypatch.setattr(env, "reset", unwatched_reset)
    monkeypatch.setattr(env, "step", counted_step)
    with log:
        rollout = roll_out(policy, env, 5, torch.Generator())
    assert rollout.terminated.all() if ends else not rollout.terminated.any()
    # From one step to the next; the first part is what comes before them, the last what closes the rollout.
    _, first, *others, _ = log.steps
    assert len(others) == 3
    assert len(first) > 50
    assert all(other == first for other in others)


def test_reading_a_tensor_on_the_host_would_be_noticed():
    with OperationLog(), pytest.raises(AssertionError, match="_local_scalar_dense"):
        torch.ones(1).item()
    with OperationLog(), pytest.raises(AssertionError, match="mask"):
        torch.ones(3)[torch.tensor([True, False, True])]


class Biased:
    """Action 1 is nine times as likely as action 0."""

    def __call__(self, observation):
        logits = torch.tensor([1.0, 9.0]).log().repeat(len(observation), 1)
        return PolicyOutput(logits, logits[:, 0])


def test_a_warmer_rollout_draws_from_the_flattened_probabilities_and_says_so():
    count = 8000
    dream = DreamEnv(Echo(), count, lambda _: torch.zeros(2 * count, 1, 1, 1, 1, dtype=torch.uint8))
    rollout = roll_out(Biased(), dream, 1, torch.Generator().manual_seed(0), temperature=2.0)
    # sqrt(1) : sqrt(9)
    assert abs(rollout.action.float().mean() - 0.75) < 5 * (0.75 * 0.25 / count) ** 0.5
    expected = torch.where(rollout.action == 1, 0.75, 0.25).log()
    torch.testing.assert_close(rollout.log_prob, expected)


def test_a_rollout_shows_the_policy_the_last_frames_alone():
    rollout = roll_out(
        ScriptedPolicy([0] * 4, 2), DreamEnv(Counter(), 2, counter_starts), 3, torch.Generator(), num_frames=1
    )
    assert rollout.observation[:, 0].flatten(1).tolist() == [[1], [2], [3]]
