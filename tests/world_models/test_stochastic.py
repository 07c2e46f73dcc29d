import math
from dataclasses import replace

import pytest
import torch

from evade.dreams.env import DreamEnv
from evade.errors import ConfigError, ShapeError
from evade.game_spec import GameSpec
from evade.interfaces import SequenceFitter, WorldModel
from evade.layers import draw, use_mean
from evade.records import Sequences, Transitions
from evade.vocabulary.variants import EVADE
from evade.world_models.bits import BitPredictor, sign, to_bits, to_symbols
from evade.world_models.bits_settings import BitsConfig
from evade.world_models.build import build_fitter, build_world_model
from evade.world_models.frame_network import Output
from evade.world_models.settings import FitConfig, RewardPathConfig, StochasticDiscreteConfig

GAME = GameSpec(channels=2, height=6, width=5, levels=2, num_actions=3, lowest_reward=0)
BITS = BitsConfig(count=4, per_symbol=2, predictor_size=8, posterior_filters=(8, 8), posterior_heads=2)
CONFIG = StochasticDiscreteConfig(
    hidden_size=8, depth=1, num_doublings=1, reward_hidden_size=8, memory_channels=3, standardise=False, bits=BITS
)
STACKED = replace(CONFIG, memory_channels=0)


def build(config=CONFIG, num_frames=3, game=GAME):
    torch.manual_seed(0)
    return build_world_model(config, game, num_frames).eval()


def some_frames(*shape, game=GAME, seed=0):
    generator = torch.Generator().manual_seed(seed)
    size = (*shape, game.channels, game.height, game.width)
    return torch.randint(0, 2, size, dtype=torch.uint8, generator=generator)


def some_sequences(batch=4, num_frames=3, target_frames=2, game=GAME):
    steps = num_frames + target_frames - 1
    zeros = torch.zeros(batch, steps, dtype=torch.long)
    return Sequences(some_frames(batch, steps + 1, game=game), zeros + 1, zeros, zeros > 0)


def test_bits_and_symbols_are_the_same_numbers():
    bits = torch.tensor([[1.0, -1, -1, -1, -1, -1, 1, 1], [-1, 1, -1, 1, 1, 1, 1, 1]])
    symbols = to_symbols(bits, 4)
    assert symbols.tolist() == [[1, 12], [10, 15]], "the first bit is the least significant"
    assert torch.equal(to_bits(symbols, 4), bits)
    assert sign(torch.tensor([-0.5, 0.0, 0.5])).tolist() == [-1, -1, 1]


def test_symbols_are_sampled_as_often_as_predicted_and_each_depends_on_those_before():
    torch.manual_seed(0)
    predictor = BitPredictor(4, BITS).eval()
    with torch.no_grad():
        predictor.head.weight.mul_(6)
        predictor.symbol_embedding.weight.mul_(30)
    count = 20_000
    layer = torch.randn(1, 4, 1, 1).expand(count, -1, -1, -1)
    with torch.no_grad():
        bits, logits = predictor.sample(layer, torch.rand(count, predictor.num_symbols))
        first, second = to_symbols(bits, BITS.per_symbol).t()
        expected = logits[0, 0].softmax(-1)
        assert expected.max() < 0.9
        given = [predictor.logits(layer[:1], to_bits(torch.tensor([[i, 0]]), 2))[0, 1].softmax(-1) for i in range(4)]
    assert (given[0] - given[1]).abs().max() > 0.05
    for value in range(4):
        error = 5 * math.sqrt(0.25 / count)
        assert (first == value).float().mean().item() == pytest.approx(expected[value].item(), abs=error)
        joint = ((first == 0) & (second == value)).float().mean().item()
        assert joint == pytest.approx((expected[0] * given[0][value]).item(), abs=error)
    assert torch.equal(predictor.sample(layer[:1], None)[0][:, :2], to_bits(logits[:1, 0].argmax(-1)[:, None], 2))


def test_it_meets_the_seams():
    model = build()
    assert isinstance(build_fitter(CONFIG, model), SequenceFitter)
    assert model.sample_noise(5, None)[0].shape == (5, 2)
    assert build(replace(CONFIG, bits=replace(BITS, temperature=0.0))).sample_noise(5, None) == ()
    typed: WorldModel = model
    assert typed.initial_memory(some_frames(5, 3))[0].shape[0] == 5


def test_memory_carried_through_a_dream_is_what_its_frames_leave_behind():
    """One pass a step with memory gives what K passes over the observation give without it."""
    model, count = build(), 3
    starts = some_frames(2 * count, 3)
    dream = DreamEnv(model, count, lambda _: starts, generator=torch.Generator().manual_seed(1))
    observation, seen = dream.reset(), [starts[:count]]
    noise = torch.Generator().manual_seed(1)
    for step in range(4):
        action = torch.full((count,), step % 3)
        everything = torch.cat(seen, 1)
        expected = model.predict(everything, action, noise=model.sample_noise(count, noise))
        observation = dream.step(action).observation
        assert torch.equal(observation[:, -1], expected.frame)
        seen.append(expected.frame.unsqueeze(1))
    assert not torch.equal(model.initial_memory(observation)[0], dream._memory[0])


def test_a_dream_that_ends_goes_on_with_the_memory_of_its_restart():
    model = build(replace(CONFIG, predicts_end=True))
    with torch.no_grad():
        model.end_head.output.bias.fill_(100.0)
    starts = some_frames(4, 3)
    dream = DreamEnv(model, 2, lambda _: starts)
    dream.reset()
    step = dream.step(torch.tensor([1, 2]))
    assert step.terminated.all()
    assert torch.equal(step.observation, starts[2:])
    torch.testing.assert_close(dream._memory, model.initial_memory(starts[2:]), rtol=0, atol=0)


def test_different_noise_gives_different_whole_frames_and_the_same_noise_the_same():
    model = build()
    with torch.no_grad():
        model.bit_injection.add.weight.mul_(40)
    observation = some_frames(1, 3).expand(64, -1, -1, -1, -1)
    action = torch.zeros(64, dtype=torch.long)
    noise = model.sample_noise(64, torch.Generator().manual_seed(0))
    one, again = (model.predict(observation, action, noise=noise).frame for _ in range(2))
    assert torch.equal(one, again)
    bits, _ = model.predict_bits(observation, action, noise=noise)
    assert 1 < len(bits.unique(dim=0)) <= 16
    # The bits decide everything: as many frames as combinations at most.
    assert 1 < len(one.flatten(1).unique(dim=0)) <= len(bits.unique(dim=0))


@pytest.mark.parametrize("config", [CONFIG, STACKED], ids=["memory", "stack"])
def test_the_reward_path_changes_rewards_alone(config):
    noisy = build(replace(config, reward=RewardPathConfig(event_layers=EVADE, sigma_init=1.0)))
    plain = build(config)
    observation, action = some_frames(4, 3), torch.arange(4) % 3
    with torch.no_grad():
        logits = plain(observation, action)
        use_mean(noisy)
        torch.testing.assert_close(noisy(observation, action).reward, logits.reward)
        draw(noisy, torch.Generator().manual_seed(0))
        drawn = noisy(observation, action)
    assert torch.equal(drawn.frame, logits.frame)
    assert not torch.allclose(drawn.reward, logits.reward)
    assert noisy.feature_maps(observation, action)


def test_fitting_counts_updates_and_gives_a_gradient_to_every_part():
    model = build(replace(CONFIG, reward=RewardPathConfig(event_layers=EVADE)))
    fitter = build_fitter(CONFIG, model.train())
    metrics = fitter.update_on_sequences(some_sequences())
    assert model.num_updates == 1
    assert {"loss", "frame_loss", "reward_loss", "bit_loss", "input_frame_loss", "gradient_norm"} <= metrics.keys()
    assert [name for name, parameter in model.named_parameters() if parameter.grad is None] == []
    fitter.update_on_sequences(some_sequences())
    fitter.update(
        Transitions(some_frames(4, 3), torch.zeros(4).long(), some_frames(4), torch.zeros(4), torch.zeros(4) > 0)
    )
    assert model.num_updates == 3
    assert model.state_dict()["num_updates"] == 3, "warm-ups go on in a resumed run"


def test_shares_grow_with_the_updates_as_in_t2t_simple():
    model = build(replace(CONFIG, own_frames_warmup=40_000))
    for updates, share in ((0, 0.01), (20_000, 0.505), (40_000, 1.0), (90_000, 1.0)):
        model.num_updates.fill_(updates)
        assert model._grown(40_000).item() == pytest.approx(share)
    model.train()
    output = Output(torch.randn(4000, 8, 6, 5), torch.zeros(4000, 3), None)
    truth = torch.full((4000, 2, 6, 5), 7, dtype=torch.uint8)
    observation = truth.unsqueeze(1)
    # T2T SimPLe: 1e-4 at first, 0.26 after 10,000 updates, 0.5 after 20,000, always after 40,000.
    for updates, probability in ((0, 1e-4), (10_000, 0.2575), (20_000, 0.505), (40_000, 1.0)):
        model.num_updates.fill_(updates)
        own = (model._choose_frame(output, observation, truth) != truth).flatten(1).any(1)
        assert own.float().mean().item() == pytest.approx(probability, abs=5 * math.sqrt(0.25 / 4000))


def test_the_posteriors_bits_are_noisy_as_asked_with_the_gradient_of_tanh():
    settings = replace(BITS, noise=0.0, flipped_share=0.1)
    model = build(replace(CONFIG, bits=settings)).train()
    logits = torch.full((5000, 4), 0.3, requires_grad=True)
    bits = model._discretise(logits, torch.tensor(1.0))
    assert set(bits.unique().tolist()) == {-1.0, 1.0}
    assert (bits < 0).float().mean().item() == pytest.approx(0.1, abs=0.02)
    bits.sum().backward()
    slope = 1 - math.tanh(0.3) ** 2
    assert torch.allclose(logits.grad.abs(), torch.full_like(logits, slope))
    soft = model._discretise(logits.detach(), torch.tensor(0.0))
    torch.testing.assert_close(soft, torch.full_like(soft, math.tanh(0.3)))
    noisy = build(replace(CONFIG, bits=replace(BITS, noise=0.2, flipped_share=0.0)))
    values = torch.atanh(noisy._discretise(torch.zeros(5000, 4), torch.tensor(0.0)))
    assert values.abs().max() <= 0.4 + 1e-6, "the noise is truncated at two standard deviations"
    assert values.std().item() == pytest.approx(0.2 * 0.88, abs=0.01)


class Coin:
    """A game of chance: the object goes left or right with equal probability, whole and never to both sides."""

    game = GameSpec(channels=1, height=4, width=5, levels=2, num_actions=1, lowest_reward=0)

    @staticmethod
    def batch(size, generator):
        side = torch.randint(0, 2, (size,), generator=generator)
        frame = torch.zeros(size, 2, 1, 4, 5, dtype=torch.uint8)
        frame[:, 0, 0, 1:3, 2] = 1
        frame[torch.arange(size), 1, 0, 1, side * 4] = 1
        frame[torch.arange(size), 1, 0, 2, side * 4] = 1
        zeros = torch.zeros(size, 1, dtype=torch.long)
        return Sequences(frame, zeros, side.unsqueeze(1), zeros > 0)


def test_fitted_dreams_of_a_coin_show_whole_sides_half_of_the_time_each():
    settings = replace(
        STACKED,
        hidden_size=16,
        num_doublings=0,
        bits=replace(BITS, count=2, warmup_updates=1, use_warmup_updates=1, predicted_share=0.0, used_share=1.0),
        fit=FitConfig(dropout=0.0, middle_dropout=0.0, pixel_noise=0.0, learning_rate=0.3, warmup_updates=20),
    )
    model = build(settings, num_frames=1, game=Coin.game).train()
    fitter, generator = build_fitter(settings, model), torch.Generator().manual_seed(0)
    for _ in range(150):
        fitter.update_on_sequences(Coin.batch(32, generator))
    model.eval()
    start = Coin.batch(400, generator).frame[:, :1]
    noise = model.sample_noise(400, generator)
    prediction = model.predict(start, torch.zeros(400, dtype=torch.long), noise=noise)
    left, right = torch.zeros(4, 5), torch.zeros(4, 5)
    left[1:3, 0] = right[1:3, 4] = 1
    is_left, is_right = ((prediction.frame[:, 0] == side).flatten(1).all(1) for side in (left, right))
    assert (is_left | is_right).all(), "what is sampled hangs together"
    assert 0.35 < is_left.float().mean() < 0.65
    assert torch.equal(prediction.reward, is_right.float()), "the reward follows the frame"


def test_bfloat16_keeps_memory_logits_and_losses_in_float32():
    model = build(replace(CONFIG, precision="bfloat16"))
    observation, action = some_frames(4, 3), torch.zeros(4, dtype=torch.long)
    prediction = model.predict(observation, action, noise=model.sample_noise(4, None))
    assert prediction.memory[0].dtype == torch.float32
    assert model.predict_bits(observation, action)[1].dtype == torch.float32
    loss = model.train().compute_sequence_loss(some_sequences())
    assert loss.total.dtype == torch.float32
    loss.total.backward()


def test_a_stack_of_another_length_is_refused_and_with_memory_any_is_taken():
    with pytest.raises(ShapeError, match=r"must be \[batch, 3 frames, 2 channels"):
        build(STACKED).predict(some_frames(1, 2), torch.tensor([0]))
    assert build().predict(some_frames(1, 2), torch.tensor([0])).frame.shape == (1, 2, 6, 5)
    with pytest.raises(ShapeError, match=r"must be \[batch, any frames, 2 channels"):
        build().predict(some_frames(2)[:, 0], torch.tensor([0, 0]))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: BitsConfig(count=12), "world_model.bits.count = 12: must be a multiple of .*per_symbol = 8"),
        (lambda: BitsConfig(count=17, per_symbol=17), "world_model.bits.per_symbol = 17: must be at most 16"),
        (lambda: BitsConfig(posterior_filters=(8, 0)), "posterior_filters = .8, 0.: must be two numbers"),
        (lambda: BitsConfig(used_share=1.5), "world_model.bits.used_share = 1.5: must lie between 0 and 1"),
        (lambda: StochasticDiscreteConfig(memory_channels=-1), "world_model.memory_channels = -1: must not be"),
        (lambda: StochasticDiscreteConfig(own_frames=2), "world_model.own_frames = 2: must lie between 0 and 1"),
    ],
)
def test_an_invalid_setting_names_field_value_and_rule(make, said):
    with pytest.raises(ConfigError, match=said):
        make()
