"""What chance decides in dreams of the deterministic model: surprises, flips, sampled ends and corrected rates."""

from dataclasses import replace

import pytest
import torch

from evade.errors import ConfigError
from evade.game_spec import GameSpec
from evade.records import NEVER_SEEN, Statistics, Transitions
from evade.world_models.build import build_world_model
from evade.world_models.settings import DeterministicConfig

GAME = GameSpec(channels=2, height=6, width=6, levels=2, num_actions=3, lowest_reward=0)
PICTURES = replace(GAME, levels=16)
CONFIG = DeterministicConfig(
    hidden_size=8,
    depth=2,
    standardise=False,
    keeps_objects=True,
    predicts_end=True,
    pools_max=True,
    corrects_rates=True,
    seen_frames=2,
    clocks=True,
    surprises=True,
    flips=True,
)
NUM_FRAMES = 4


def build(**changes):
    torch.manual_seed(0)
    return build_world_model(replace(CONFIG, **changes), GAME, NUM_FRAMES).eval()


def observations(batch=5):
    generator = torch.Generator().manual_seed(1)
    return torch.randint(0, 2, (batch, NUM_FRAMES, 2, 6, 6), dtype=torch.uint8, generator=generator)


ACTION = torch.tensor([0, 1, 2, 0, 1])


def statistics(reward_excess=(0.0, 0.0), end_excess=0.0, change_excess=((0.0, 0.0), (0.0, 0.0))):
    of_groups = torch.zeros(2, 2, dtype=torch.bool)
    return Statistics(of_groups, *map(torch.tensor, (reward_excess, end_excess, change_excess)), 0)


def test_a_dream_carries_what_its_frames_show():
    model, observation = build(), observations()
    torch.nn.init.normal_(model.clocks.embedding.weight)
    memory = model.initial_memory(observation)
    for step in range(6):
        noise = model.sample_noise(5, torch.Generator().manual_seed(step))
        carried = model.predict(observation, ACTION, memory, noise)
        stacked = model.predict(observation, ACTION, (), noise)
        assert all(torch.equal(one, other) for one, other in zip(carried[:3], stacked[:3], strict=True))
        memory = carried.memory
        observation = torch.cat([observation[:, 1:], carried.frame.unsqueeze(1)], 1)
        assert torch.equal(memory[0], model.initial_memory(observation)[0])


def test_the_network_sees_the_last_frames_and_the_clocks_of_all():
    model, observation = build(), observations()
    reward = model.expected_reward(observation, ACTION)
    changed = observation.clone()
    changed[:, :2] = 1 - changed[:, :2]
    assert torch.equal(model.expected_reward(changed, ACTION), reward)
    torch.nn.init.normal_(model.clocks.embedding.weight)
    still = observation[:, -1:].expand(-1, NUM_FRAMES, -1, -1, -1).clone()
    moved = still.clone()
    moved[:, 0] = 1 - moved[:, 0]
    assert not torch.equal(model.expected_reward(still, ACTION), model.expected_reward(moved, ACTION))


def test_without_noise_the_most_likely_frame_is_predicted():
    model, observation = build(), observations()
    plain = build(surprises=False, flips=False)
    plain.load_state_dict(model.state_dict(), strict=False)
    assert torch.equal(model.predict(observation, ACTION).frame, plain.predict(observation, ACTION).frame)
    assert plain.sample_noise(5, None) == ()


def test_what_appeared_unpredicted_appears_in_dreams():
    model, observation = build(flips=False), observations()
    predicted = model.predict(observation, ACTION).frame
    happened = predicted.clone()
    empty = (predicted[0] == 0).nonzero()[0]
    happened[0, *empty] = 1
    zeros = torch.zeros(5, dtype=torch.long)
    model.observe(Transitions(observation, ACTION, happened, zeros, zeros.bool()))
    for row, expected in ((0, happened[0]), (1, predicted[0])):
        noise = (torch.full((5,), row),)
        assert torch.equal(model.predict(observation, ACTION, (), noise).frame[0], expected)


def test_rates_are_corrected_for_oversampling():
    model, observation = build(), observations()
    before = model.expected_reward(observation, ACTION)
    model.use_statistics(statistics((0.0, 2.0)))
    after = model.expected_reward(observation, ACTION)
    assert torch.allclose(after.logit(), before.logit() - 2.0, atol=1e-5)
    # A reward seen once keeps a chance.
    model.use_statistics(statistics((0.0, 9.0)))
    assert torch.allclose(model.expected_reward(observation, ACTION).logit(), before.logit() - 2.3, atol=1e-5)


def test_changes_of_frames_are_corrected_for_oversampling():
    model, observation = build(one_place=True), torch.zeros(4000, NUM_FRAMES, 2, 6, 6, dtype=torch.uint8)
    torch.nn.init.zeros_(model.frame_head.weight)
    torch.nn.init.zeros_(model.frame_head.bias)
    noise = model.sample_noise(4000, torch.Generator().manual_seed(0))
    shown = []
    for excess in (0.0, 1.0):
        model.use_statistics(statistics(change_excess=((excess, 0.0), (0.0, 0.0))))
        frame = model.predict(observation, torch.zeros(4000, dtype=torch.long), (), noise).frame
        shown.append(frame[:, :, 0, 0].double().mean(0))
    # Each cell is on with probability one half, in the first channel by odds of e less.
    tolerance = 5 * 0.5 / 4000**0.5
    assert torch.allclose(shown[0], torch.tensor([0.5, 0.5], dtype=torch.float64), atol=tolerance)
    assert torch.allclose(shown[1], torch.tensor([0.2689, 0.5], dtype=torch.float64), atol=tolerance)


def test_what_never_happened_does_not_happen_in_dreams():
    model, observation = build(), observations()
    model.use_statistics(statistics((0.0, NEVER_SEEN), NEVER_SEEN))
    assert (model.expected_reward(observation, ACTION) == 0).all()
    shares, row = torch.full((5, 2), 1e-30), torch.zeros(5, dtype=torch.long)
    assert not model.predict(observation, ACTION, (), (shares, row)).terminated.any()


def test_ends_are_sampled_with_their_corrected_probability():
    model = build(surprises=False)
    observation = observations(1).expand(20_000, -1, -1, -1, -1)
    action = torch.zeros(20_000, dtype=torch.long)
    model.use_statistics(statistics(end_excess=0.5))
    probability = torch.sigmoid(model(observation[:1], action[:1]).end - 0.5).item()
    noise = model.sample_noise(20_000, torch.Generator().manual_seed(0))
    ended = model.predict(observation, action, (), noise).terminated.float().mean()
    assert abs(ended - probability) < 5 * (probability * (1 - probability) / 20_000) ** 0.5


@pytest.mark.parametrize(("log_odds", "share_of_ends"), [(3.8, 0.82), (4.0, 1.0), (9.0, 1.0), (-4.0, 0.0018)])
def test_an_end_at_the_cutoff_of_the_loss_is_certain(log_odds, share_of_ends):
    """0.82 and 0.0018 are the sigmoids of 3.8 - 2.3 and -4 - 2.3; a loss of 0.02 nats is at log-odds of 3.9."""
    model = build(surprises=False)
    model.use_statistics(statistics(end_excess=2.3))
    with torch.no_grad():
        model.end_head.output.weight.zero_()
        model.end_head.output.bias.fill_(log_odds)
    shares = torch.linspace(0, 1, 10_001)[:-1]
    observation, action = observations(1).expand(10_000, -1, -1, -1, -1), torch.zeros(10_000, dtype=torch.long)
    ended = model.predict(observation, action, (), (shares[:, None].expand(-1, 2),)).terminated
    assert ended.float().mean().item() == pytest.approx(share_of_ends, abs=0.003)


@pytest.mark.parametrize("name", ["clocks", "surprises"])
def test_pictures_have_neither_clocks_nor_surprises(name):
    config = replace(
        CONFIG, **({"keeps_objects": False, "clocks": False, "surprises": False, "flips": False} | {name: True})
    )
    with pytest.raises(
        ConfigError, match=f"world_model.{name} = True: must be False, because this game's cells have 16"
    ):
        build_world_model(config, PICTURES, NUM_FRAMES)


def test_impossible_settings_are_refused():
    with pytest.raises(ConfigError, match=r"world_model.flips = True: must be False without world_model.keeps_objects"):
        replace(CONFIG, keeps_objects=False)
    with pytest.raises(ConfigError, match=r"world_model.seen_frames = -1: must not be negative"):
        replace(CONFIG, seen_frames=-1)
    with pytest.raises(ConfigError, match=r"world_model.seen_frames = 5: must not exceed env.num_frames = 4"):
        build(seen_frames=5)
