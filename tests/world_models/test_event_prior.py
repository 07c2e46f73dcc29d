"""The event prior, held against closed forms."""

import pytest
import torch

from evade.layers import current_draw, draw, hold, kl_divergence, mean_draw, mean_sigma, use_mean
from evade.vocabulary.variants import EVADE
from evade.world_models.event_prior import EventPrior

CHANNELS, SIZE, ACTIONS = 2, (4, 5), 3


def prior(layers=EVADE, scale=0.3, patience=0.5, optimism=0.0):
    return EventPrior(
        layers,
        channels=CHANNELS,
        frame_size=SIZE,
        num_actions=ACTIONS,
        scale=scale,
        patience=patience,
        optimism=optimism,
    ).eval()


def frame(*objects):
    """A grid with objects at (channel, row, column)."""
    cells = torch.zeros(1, CHANNELS, *SIZE, dtype=torch.uint8)
    for channel, row, column in objects:
        cells[0, channel, row, column] = 1
    return cells


EMPTY = frame()
MEETING = frame((0, 1, 1), (1, 1, 2))
APART = frame((0, 1, 1), (1, 1, 4))
ACTION = torch.tensor([1])
TAKEN, OTHER = torch.tensor([[False, True, False]]), torch.tensor([[False, False, True]])
UNPAID, PAID = torch.tensor([False]), torch.tensor([True])


@pytest.mark.parametrize(
    ("layers", "number"),
    [
        (("weighting",), (1 + ACTIONS) * CHANNELS * 20),
        (("translation",), CHANNELS * (CHANNELS + 1) * 9),
        (("interaction",), (1 + ACTIONS) * CHANNELS * (CHANNELS + 1) * 9),
    ],
)
def test_each_event_layer_brings_its_own_events(layers, number):
    assert prior(layers).find_events(EMPTY, TAKEN, MEETING).shape == (1, number)


def test_two_objects_meet_within_one_cell_and_not_further():
    interaction = prior(("interaction",))
    met = interaction.find_events(EMPTY, TAKEN, MEETING)[0].nonzero().flatten().tolist()
    # Each object with itself, and each with the other: kinds (0, 0), (0, 1), (1, 0), (1, 1).
    assert len(met) == 4
    assert len(interaction.find_events(EMPTY, TAKEN, APART)[0].nonzero()) == 2 + 3, "itself twice, and the edge"
    assert interaction.find_events(MEETING, TAKEN, EMPTY).sum() == 4, "in the present frame, under the action"
    other = interaction.find_events(MEETING, OTHER, EMPTY)
    assert (other * interaction.find_events(MEETING, TAKEN, EMPTY)).sum() == 0, "another action is another event"


def test_optimism_is_the_mean_over_draws_in_units_of_sigma():
    """With a small scale, tanh is the identity: n unknown events promise n times the optimism."""
    model = prior(("weighting",), scale=1e-3, patience=1.0, optimism=0.5)
    model.sigma.mul_(1e-2)
    now, then = frame((0, 1, 1)), frame((0, 1, 2), (1, 3, 3))
    rewards = []
    for seed in range(4000):
        draw(model, torch.Generator().manual_seed(seed))
        rewards.append(model(now, ACTION, then).item())
    rewards = torch.tensor(rewards) / 1e-5
    assert abs(rewards.mean() - 3 * 0.5) < 4 * 3**0.5 / 4000**0.5
    assert abs(rewards.std() - 3**0.5) < 0.1
    for _ in range(200):
        model.observe(now, ACTION, then, then, UNPAID)
    draw(model, torch.Generator().manual_seed(0))
    assert abs(model(now, ACTION, then).item()) < 0.05 * 1e-3, "what was seen often promises nothing"


def test_the_spread_over_draws_is_the_closed_form_until_tanh_bends():
    """With a small sum, tanh is the identity: the standard deviation is scale times the norm of the sigmas."""
    model = prior(("weighting",), scale=0.3, patience=1.0)
    for _ in range(99):
        model.observe(EMPTY, ACTION, MEETING, MEETING, UNPAID)
    assert model.sigma[model.counts > 0].tolist() == pytest.approx([0.01] * 2)
    rewards = []
    for seed in range(3000):
        draw(model, torch.Generator().manual_seed(seed))
        rewards.append(model(EMPTY, ACTION, MEETING).item())
    expected = 0.3 * (2 * 0.01**2) ** 0.5
    assert torch.tensor(rewards).std().item() == pytest.approx(expected, rel=0.06)


def test_convolutions_pay_what_the_list_of_events_says():
    """Where no event happens twice, the fast form is the sum over the list."""
    model = prior()
    generator = torch.Generator().manual_seed(0)
    draw(model, generator)
    for now, then in ((EMPTY, MEETING), (MEETING, APART), (frame((0, 3, 4)), frame((0, 2, 4), (1, 0, 0)))):
        listed = 0.3 * torch.tanh(model.find_events(now, TAKEN, then) @ (model.sigma * model.noise))
        assert model(now, ACTION, then).item() == pytest.approx(listed.item(), abs=1e-6)


def test_sightings_shrink_what_draws_say_and_never_revive_it():
    model, spreads = prior(patience=0.1), []
    for seen in (0, 1, 2, 7, 20):
        for _ in range(seen):
            model.observe(EMPTY, ACTION, MEETING, MEETING, UNPAID)
        rewards = [
            (draw(model, torch.Generator().manual_seed(seed)), model(EMPTY, ACTION, MEETING))[1] for seed in range(200)
        ]
        spreads.append(torch.cat(rewards).std().item())
    assert spreads == sorted(spreads, reverse=True)
    assert spreads[0] > 0.15
    assert spreads[-1] < spreads[0] / 50
    draw(model, torch.Generator().manual_seed(0))
    assert abs(model(EMPTY, ACTION, APART).item()) > 0.01, "what was not seen is still open"


def test_a_predicted_event_counts_as_seen():
    model = prior(("weighting",))
    model.observe(EMPTY, ACTION, EMPTY, MEETING, UNPAID)
    assert model.counts.sum() == 2
    model.observe(EMPTY, ACTION, MEETING, MEETING, UNPAID)
    assert model.counts.max() == 2, "once in a transition, not twice"


def test_what_met_when_a_reward_came_counts_under_every_action():
    paid, unpaid = prior(("interaction",)), prior(("interaction",))
    paid.observe(MEETING, ACTION, EMPTY, EMPTY, PAID)
    unpaid.observe(MEETING, ACTION, EMPTY, EMPTY, UNPAID)
    assert paid.counts.sum() == ACTIONS * unpaid.counts.sum() == ACTIONS * 4


def test_rewards_are_bounded_and_zero_without_a_draw():
    model = prior(scale=0.2)
    assert model(EMPTY, ACTION, MEETING).item() == 0, "fitting does not see it"
    draw(model, torch.Generator().manual_seed(1))
    crowd = torch.ones(1, CHANNELS, *SIZE, dtype=torch.uint8)
    assert 0 < abs(model(crowd, ACTION, crowd).item()) <= 0.2 + 1e-6
    with use_mean(model):
        assert model(crowd, ACTION, crowd).item() == 0


def test_a_draw_is_a_value_that_can_be_held_again_and_several_can_be_held_at_once():
    model = prior()
    first = draw(model, torch.Generator().manual_seed(1))
    rewards = [model(EMPTY, ACTION, MEETING)]
    draw(model, torch.Generator().manual_seed(2))
    rewards.append(model(EMPTY, ACTION, MEETING))
    assert rewards[0] != rewards[1]
    with hold(model, first):
        assert model(EMPTY, ACTION, MEETING) == rewards[0]
    assert current_draw(model) != first
    both = draw(model, torch.Generator().manual_seed(3), samples=2)
    steps = [x.expand(4, *x.shape[1:]) for x in (EMPTY, ACTION, MEETING)]
    paid = model(*steps)
    assert paid[0] == paid[1] != paid[2] == paid[3]
    hold(model, type(both)({name: noise[1] for name, noise in both.items()}))
    assert torch.allclose(model(EMPTY, ACTION, MEETING), paid[2:3])


def test_counts_are_saved_and_sigma_is_not_trained():
    model, other = prior(), prior()
    model.observe(EMPTY, ACTION, MEETING, MEETING, UNPAID)
    other.load_state_dict(model.state_dict())
    assert torch.equal(other.counts, model.counts)
    assert torch.equal(other.sigma, model.sigma)
    assert list(model.parameters()) == []
    assert kl_divergence(model) == 0
    assert mean_sigma(model)[""] < 1


def test_the_images_of_sigma_have_every_event_in_its_place():
    channels, actions, (height, width) = 2, 3, (4, 5)
    layers = ("translation", "weighting", "interaction")
    prior = EventPrior(
        layers, channels=channels, frame_size=(height, width), num_actions=actions, scale=1.0, patience=1.0
    )
    prior.sigma.copy_(torch.arange(len(prior.sigma), dtype=torch.float32))
    images = prior.sigma_images()
    translation, weighting, interaction = prior.sigma.split([size for _, size in prior._sizes])
    pairs = translation.view(channels, channels + 1, 3, 3)
    places = weighting.view(1 + actions, channels, height, width)
    met = interaction.view(1 + actions, channels, channels + 1, 3, 3)
    for i in range(channels):
        for j in range(channels + 1):
            block = slice(3 * i, 3 * i + 3), slice(3 * j, 3 * j + 3)
            assert torch.equal(images["translation"][block], pairs[i, j])
            assert torch.equal(images["interaction, predicted frame"][block], met[0, i, j])
            assert torch.equal(images["interaction, present frame"][block], met[1:, i, j].mean(0))
        grid = slice(width * i, width * (i + 1))
        assert torch.equal(images["weighting, predicted frame"][:, grid], places[0, i])
        assert torch.equal(images["weighting, present frame"][:, grid], places[1:, i].mean(0))


def test_the_prior_adds_nothing_where_a_reward_is_expected():
    layer = prior()
    now, then = torch.randint(0, 2, (2, 4, CHANNELS, *SIZE), dtype=torch.uint8)
    action = torch.tensor([0, 1, 2, 0])
    draw(layer, torch.Generator().manual_seed(0))
    reward = torch.tensor([0.0, 0.5, 1.0, -1.0])
    added = layer.added_reward(reward, now, action, then)
    assert torch.allclose(added, torch.tensor([1.0, 0.5, 0.0, 0.0]) * layer(now, action, then))
    assert added[0] != 0


def test_an_optimistic_prior_adds_nothing_under_the_mean_draw():
    layer = prior(optimism=0.5)
    draw(layer, torch.Generator().manual_seed(0))
    assert layer(EMPTY, ACTION, MEETING).abs() > 0
    hold(layer, mean_draw(layer))
    assert layer(EMPTY, ACTION, MEETING) == 0
