"""The stochastic model with what grids of objects add: clocks, heads on neighbourhoods, and bits that see changes."""

from dataclasses import replace

import pytest
import torch

from evade.config.presets import GRID_STOCHASTIC_MODEL
from evade.errors import ConfigError
from evade.game_spec import GameSpec
from evade.records import Statistics, Transitions
from evade.vocabulary.variants import EVADE
from evade.world_models.bits_settings import BitsConfig
from evade.world_models.build import build_fitter, build_world_model
from evade.world_models.change_posterior import ChangePosterior
from evade.world_models.settings import DeterministicConfig, FitConfig, StochasticDiscreteConfig

GAME = GameSpec(channels=2, height=6, width=6, levels=2, num_actions=3, lowest_reward=0)
NUM_FRAMES = 3
PLACES = [(0, 0), (0, 5), (5, 0), (3, 3)]
"""Where a new object may appear."""

SETTINGS = replace(
    GRID_STOCHASTIC_MODEL,
    hidden_size=8,
    seen_frames=2,
    bits=replace(GRID_STOCHASTIC_MODEL.bits, count=3, per_symbol=3, predictor_size=8, posterior_filters=(8, 8)),
)


def build(settings=SETTINGS, game=GAME):
    torch.manual_seed(0)
    return build_world_model(settings, game, NUM_FRAMES).eval()


def births(count, generator):
    """An object appears in one of four places, by chance; a second channel shows one that stays."""
    place = torch.randint(len(PLACES), (count,), generator=generator)
    observation = torch.zeros(count, NUM_FRAMES, 2, 6, 6, dtype=torch.uint8)
    observation[:, :, 1, 2, 1] = 1
    following = observation[:, -1].clone()
    rows, columns = torch.tensor(PLACES)[place].t()
    following[torch.arange(count), 0, rows, columns] = 1
    zeros = torch.zeros(count, dtype=torch.long)
    return Transitions(observation, zeros, following, zeros, zeros.bool())


def seen_statistics():
    groups = torch.diag(torch.tensor([False, True]))
    return Statistics(groups, torch.zeros(2), torch.zeros(()), torch.zeros(2, 2), 64)


def test_fitted_dreams_show_one_new_object_in_each_place_as_often_as_the_game():
    model, generator = build(), torch.Generator().manual_seed(0)
    fitter = build_fitter(SETTINGS, model)
    model.use_statistics(seen_statistics())
    model.train()
    for _ in range(250):
        fitter.update(births(32, generator))
    model.eval()
    batch = births(400, generator)
    noise = model.sample_noise(400, generator)
    new = model.predict(batch.observation, batch.action, noise=noise).frame[:, 0]
    assert (new.flatten(1).sum(1) == 1).float().mean() > 0.9, "one object, in one place"
    shares = torch.stack([new[:, row, column].float().mean() for row, column in PLACES])
    assert ((shares - 0.25).abs() < 0.1).all(), shares
    most_likely = model.predict(batch.observation, batch.action, noise=()).frame[:, 0]
    assert len(most_likely.flatten(1).unique(dim=0)) == 1, "without noise there is no chance"


def test_one_changed_cell_moves_the_posterior_and_its_place_is_told_apart():
    torch.manual_seed(0)
    posterior = ChangePosterior(2, (6, 6), SETTINGS.bits)
    empty = torch.zeros(1, 2, 6, 6)
    logits = [posterior(empty, empty, torch.zeros(1, 8))]
    for row, column in PLACES:
        after = empty.clone()
        after[0, 0, row, column] = 1
        logits.append(posterior(empty, after, torch.zeros(1, 8)))
    distances = torch.cdist(torch.cat(logits), torch.cat(logits))
    assert (distances[~torch.eye(5, dtype=torch.bool)] > 1e-3).all()


def test_a_dream_carries_its_clocks_and_what_is_left_for_the_unknown():
    model = build(SETTINGS.with_event_layers(EVADE))
    torch.nn.init.normal_(model.clocks.embedding.weight)
    generator = torch.Generator().manual_seed(2)
    observation = torch.randint(0, 2, (5, NUM_FRAMES, 2, 6, 6), dtype=torch.uint8, generator=generator)
    action, memory = torch.tensor([0, 1, 2, 0, 1]), model.initial_memory(observation)
    assert memory[-1].tolist() == pytest.approx([0.05] * 5)
    for _ in range(4):
        noise = model.sample_noise(5, generator)
        carried = model.predict(observation, action, memory, noise)
        fresh = model.predict(observation, action, (memory[0], torch.full((5,), 0.05)), noise)
        assert torch.equal(carried.frame, fresh.frame)
        memory = carried.memory
        observation = torch.cat([observation[:, 1:], carried.frame.unsqueeze(1)], 1)
        assert torch.equal(memory[0], model.initial_memory(observation)[0])
        assert (memory[-1] <= 0.05).all()


def test_ends_and_moves_are_sampled_too_and_the_symbols_first():
    model = build()
    symbols, shares = model.sample_noise(7, torch.Generator().manual_seed(0))
    assert symbols.shape == (7, 1)
    assert shares.shape == (7, 2)
    calm = build(replace(SETTINGS, bits=replace(SETTINGS.bits, temperature=0.0)))
    (shares,) = calm.sample_noise(7, None)
    assert shares.shape == (7, 2)
    observation = torch.zeros(7, NUM_FRAMES, 2, 6, 6, dtype=torch.uint8)
    assert not calm.predict(observation, torch.zeros(7, dtype=torch.long), noise=(shares,)).terminated.all()


def test_the_kernels_of_the_heads_decay():
    kernels = []
    for decay in (0.0, 640.0):
        settings = replace(SETTINGS, fit=replace(SETTINGS.fit, head_decay=decay))
        model = build(settings)
        model.use_statistics(seen_statistics())
        fitter = build_fitter(settings, model)
        for _ in range(3):
            fitter.update(births(8, torch.Generator().manual_seed(0)))
        kernels.append(model.local_heads.convolutions[0].weight.square().sum())
    assert kernels[1] < kernels[0]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            lambda: replace(SETTINGS, memory_channels=4),
            "world_model.seen_frames = 2: must not be set with world_model.memory_channels",
        ),
        (
            lambda: StochasticDiscreteConfig(standardise=False, clocks=True),
            "world_model.clocks = True: must not be set with world_model.memory_channels",
        ),
        (
            lambda: DeterministicConfig(fit=FitConfig(optimiser="adam", head_decay=1.0)),
            "world_model.fit.head_decay = 1.0: must be 0 without world_model.local_heads",
        ),
        (
            lambda: build(
                StochasticDiscreteConfig(depth=1, num_doublings=0, bits=BitsConfig(sees_changes=True)),
                replace(GAME, levels=16),
            ),
            "world_model.bits.sees_changes = True: must be False, because this game's cells have 16 values",
        ),
    ],
)
def test_impossible_settings_are_refused_by_name(make, said):
    with pytest.raises(ConfigError, match=said):
        make()
