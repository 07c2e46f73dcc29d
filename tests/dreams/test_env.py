from functools import partial

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from evade.config.presets import build_config
from evade.dreams.env import DreamEnv, _select_bytes
from evade.dreams.settings import DreamConfig
from evade.envs.games import MINATAR
from evade.envs.minatar import MinAtarGame
from evade.errors import ConfigError
from evade.game_spec import GameSpec
from evade.layers import draw
from evade.policies.build import build_policy
from evade.policies.rollout import roll_out
from evade.records import Prediction
from evade.vocabulary.variants import EVADE
from evade.world_models.bits_settings import BitsConfig
from evade.world_models.build import build_world_model
from evade.world_models.settings import DeterministicConfig, RewardPathConfig, StochasticDiscreteConfig
from fake_worlds import PerfectModel, ScriptedPolicy, twin


@pytest.mark.parametrize("name", [game.id for game in MINATAR])
def test_with_a_perfect_world_model_the_dream_is_the_game_to_its_end(name):
    never_ends = name == "freeway"  # only its timer ends it, which truncates
    count, most_steps = (3, 2400) if never_ends else (8, 2500)
    games = []
    for seed in range(count):
        game = MinAtarGame(name)
        game.reset(seed=seed)
        for action in (1, 2, 1):
            game.step(action)
        games.append(game)
    start = torch.stack([torch.from_numpy(game._frame()) for game in games]).unsqueeze(1)
    restart = 1 - start
    dream = DreamEnv(PerfectModel([twin(game) for game in games]), count, lambda _: torch.cat([start, restart]))
    assert torch.equal(dream.reset(), start)
    rng = np.random.default_rng(0)
    alive, total_reward, num_steps = [True] * count, 0.0, 0
    while any(alive) and num_steps < most_steps:
        num_steps += 1
        actions = rng.integers(0, games[0].action_space.n, count)
        step = dream.step(torch.from_numpy(actions))
        for index, game in enumerate(games):
            if alive[index]:
                frame, reward, terminated, _, _ = game.step(int(actions[index]))
                assert step.reward[index] == reward
                assert step.terminated[index] == terminated
                alive[index] = not terminated
                expected = torch.from_numpy(frame) if alive[index] else restart[index, 0]
                assert torch.equal(step.observation[index, -1], expected)
                total_reward += reward
    assert alive == [never_ends] * count, "every other game ends, and so does every dream of it"
    assert total_reward > 0


class Plain:
    """A model without memory and noise."""

    def initial_memory(self, observation):
        return ()

    def sample_noise(self, batch_size, generator):
        return ()


class Counter(Plain):
    """The next frame's only cell is the last one's plus 1; the game ends at 5."""

    def predict(self, observation, action, memory, noise):
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


class Echo(Plain):
    """Shows the action that took effect, which is also the reward."""

    def predict(self, observation, action, memory, noise):
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


def test_a_new_dream_does_not_repeat_an_action_of_the_last_one():
    dream = DreamEnv(Echo(), 64, lambda _: torch.zeros(128, 1, 1, 1, 1, dtype=torch.uint8), sticky_probability=0.9)
    dream.reset()
    dream.step(torch.full((64,), 3))
    dream.reset()
    assert (dream.step(torch.full((64,), 1)).reward == 1).all()


class Summing(Plain):
    """Recurrent: remembers the sum of all actions, and the last action twice. Pays the sum; ends at 4 or more."""

    def initial_memory(self, observation):
        return torch.zeros(len(observation)), torch.full((len(observation), 2), -1)

    def predict(self, observation, action, memory, noise):
        total, last = memory
        total = total + action
        frame = (last[:, 0] + 1).to(torch.uint8)[:, None, None, None]
        return Prediction(frame, total, total >= 4, (total, action.unsqueeze(1).repeat(1, 2)))


def test_memory_is_carried_from_step_to_step_and_reset_where_a_dream_ends():
    dream = DreamEnv(Summing(), 3, lambda count: torch.full((count, 1, 1, 1, 1), 9, dtype=torch.uint8))
    dream.reset()
    actions = [[1, 3, 0], [2, 1, 0], [3, 2, 1], [1, 1, 1]]
    steps = [dream.step(torch.tensor(action)) for action in actions]
    # Dream 0 ends at the third step (1 + 2 + 3), dream 1 at the second (3 + 1), dream 2 never.
    assert [step.reward.tolist() for step in steps] == [[1, 3, 0], [3, 4, 0], [6, 2, 1], [1, 3, 2]]
    assert [step.terminated.tolist() for step in steps] == [
        [False, False, False],
        [False, True, False],
        [True, False, False],
        [False, False, False],
    ]
    # The frame shows the remembered last action plus 1: 0 after a reset; 9 is the start of the next dream.
    assert [step.observation.flatten().tolist() for step in steps] == [[0, 0, 0], [2, 9, 1], [9, 0, 1], [0, 3, 2]]


def test_all_memory_is_reset_with_the_dreams():
    dream = DreamEnv(Summing(), 2, lambda count: torch.zeros(count, 1, 1, 1, 1, dtype=torch.uint8))
    for _ in range(2):
        dream.reset()
        assert dream.step(torch.tensor([1, 3])).reward.tolist() == [1, 3]


class Sampling(Plain):
    """Pays a random number from 0 to 1 and shows it in 256 steps."""

    def __init__(self):
        self.num_samples = self.num_predictions = 0
        self.is_in_step = False

    def sample_noise(self, batch_size, generator):
        assert not self.is_in_step, "random numbers must not be sampled in the step, which is compiled"
        self.num_samples += 1
        return (torch.rand(batch_size, generator=generator),)

    def predict(self, observation, action, memory, noise):
        assert self.is_in_step
        self.num_predictions += 1
        (number,) = noise
        frame = (number * 256).to(torch.uint8)[:, None, None, None]
        return Prediction(frame, number, torch.zeros_like(action, dtype=torch.bool))


def watch_step(model):
    """A compiler that tells the model when the step runs."""

    def compiler(work):
        def call(*inputs):
            model.is_in_step = True
            result = work(*inputs)
            model.is_in_step = False
            return result

        return call

    return compiler


def sample_dream(seed, steps=5, count=3):
    """Rewards of sampled dreams; torch's global generator if there is no seed."""
    model = Sampling()
    generator = None if seed is None else torch.Generator().manual_seed(seed)
    starts = torch.zeros(2 * count, 1, 1, 1, 1, dtype=torch.uint8)
    dream = DreamEnv(model, count, lambda _: starts, compiler=watch_step(model), generator=generator)
    dream.reset()
    rewards = torch.stack([dream.step(torch.zeros(count, dtype=torch.long)).reward for _ in range(steps)])
    assert model.num_samples == model.num_predictions == steps, "once a step"
    return rewards


def test_a_model_that_samples_is_given_fresh_noise_from_the_generator_at_every_step():
    generator = torch.Generator().manual_seed(1)
    expected = torch.stack([torch.rand(3, generator=generator) for _ in range(5)])
    assert torch.equal(sample_dream(1), expected)
    assert torch.equal(sample_dream(1), sample_dream(1))
    assert not torch.equal(sample_dream(1), sample_dream(2))
    assert len(expected.unique()) == 15


def test_without_a_generator_noise_is_from_torchs_global_one():
    with torch.random.fork_rng():
        torch.manual_seed(1)
        assert torch.equal(sample_dream(None), sample_dream(1))


@pytest.mark.parametrize(
    ("field", "value"),
    [("num_envs", 0), ("horizon", 0), ("starts_from", "oldest"), ("starts_by", "step"), ("sticky_probability", 1.0)],
)
def test_impossible_settings_are_refused(field, value):
    with pytest.raises(ConfigError, match=f"^Invalid dream.{field} = {value!r}: must be "):
        DreamConfig(**{field: value})


BITS = BitsConfig(count=8, per_symbol=4, predictor_size=8, posterior_filters=(4, 4))


@pytest.mark.parametrize(
    "kind", [DeterministicConfig, partial(StochasticDiscreteConfig, num_doublings=2, memory_channels=4, bits=BITS)]
)
def test_nothing_inside_a_dream_rollout_waits_for_the_host(kind, monkeypatch):
    game = GameSpec(channels=4, height=10, width=10, levels=2, num_actions=6)
    config = kind(hidden_size=8, depth=2, predicts_end=True, reward=RewardPathConfig(event_layers=EVADE))
    model = build_world_model(config, game, num_frames=1).eval()
    draw(model)
    env = DreamEnv(model, 4, lambda count: torch.zeros(count, 1, 4, 10, 10, dtype=torch.uint8))
    policy = ScriptedPolicy([0] * 9, 6)

    def refuse(*arguments):
        raise AssertionError("a tensor was read on the host")

    for name in ("item", "cpu", "tolist", "numpy", "__bool__", "__int__", "__float__"):
        monkeypatch.setattr(torch.Tensor, name, refuse)
    roll_out(policy, env, 3, torch.Generator())


class OperationLog(TorchDispatchMode):
    """Records every operation and its results' shapes; refuses operations that a captured graph cannot contain."""

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
    config = DeterministicConfig(
        hidden_size=8, depth=2, predicts_end=True, reward=RewardPathConfig(event_layers=EVADE, sigma_init=0.5)
    )
    model = build_world_model(config, game, num_frames=2).eval()
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
    # From one step to the next; the first part comes before them, the last one closes the rollout.
    _, first, *others, _ = log.steps
    assert len(others) == 3
    assert len(first) > 50
    assert all(other == first for other in others)


def test_reading_a_tensor_on_the_host_would_be_noticed():
    with OperationLog(), pytest.raises(AssertionError, match="_local_scalar_dense"):
        torch.ones(1).item()
    with OperationLog(), pytest.raises(AssertionError, match="mask"):
        torch.ones(3)[torch.tensor([True, False, True])]


@pytest.mark.parametrize("shape", [(2, 4, 5, 2), (1, 7, 10, 10), (3, 5, 5, 1)], ids=["eights", "fours", "single bytes"])
def test_ended_dreams_restart_however_their_bytes_are_grouped(shape):
    generator = torch.Generator().manual_seed(0)
    one, other = torch.randint(0, 256, (2, 6, *shape), dtype=torch.uint8, generator=generator)
    ended = torch.tensor([True, False, True, True, False, False])
    expected = torch.stack([(one if has_ended else other)[row] for row, has_ended in enumerate(ended)])
    assert torch.equal(_select_bytes(ended, one, other), expected)
