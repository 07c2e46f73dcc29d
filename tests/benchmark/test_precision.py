from dataclasses import replace

import pytest
import torch

from evade.benchmark.precision import (
    PrecisionOptions,
    compare_precisions,
    compare_predictions,
    play_at_random,
    predict_with,
)
from evade.envs import make_env
from evade.envs.settings import EnvConfig
from evade.errors import UnknownGame
from evade.game_spec import GameSpec
from evade.layers import draw
from evade.records import Prediction
from evade.vocabulary.variants import EVADE
from evade.world_models.build import build_deterministic
from evade.world_models.settings import DeterministicConfig, RewardPathConfig

GAME = GameSpec(channels=3, height=11, width=8, levels=256, num_actions=3)
CONFIG = DeterministicConfig(hidden_size=16, depth=2, predicts_end=True, reward=RewardPathConfig(event_layers=EVADE))


def build(config=CONFIG):
    return build_deterministic(config, GAME, num_frames=2)


def test_a_gap_counted_by_hand():
    frame = torch.zeros(2, 1, 2, 2, dtype=torch.uint8)
    other = frame.clone()
    other[1, 0, 0, 0], other[1, 0, 1, 1] = 255, 3
    one = Prediction(frame, torch.tensor([0.0, 1.0]), torch.tensor([False, False]))
    two = Prediction(other, torch.tensor([0.0, 1.0]), torch.tensor([True, False]))
    assert compare_predictions(one, two) == compare_predictions(two, one) == (2 / 8, 1 / 2, 255, 0, 1 / 2)
    assert compare_predictions(one, one) == (0, 0, 0, 0, 0)


def test_the_model_and_its_draw_are_not_changed():
    torch.manual_seed(0)
    model = build().eval()
    draw(model, torch.Generator().manual_seed(0))
    observation = torch.randint(0, 256, (5, 2, 3, 11, 8), dtype=torch.uint8)
    action = torch.tensor([0, 1, 2, 1, 0])
    before = model.predict(observation, action)
    exact, low = (predict_with(model, kind, observation, action, batch_size=2) for kind in ("float32", "bfloat16"))
    assert model.config == CONFIG
    assert compare_predictions(before, exact) == (0, 0, 0, 0, 0)
    gap = compare_predictions(exact, low)
    # An unfitted network's logits lie close together, so some pixels must differ, but only some.
    assert 0 < gap.pixels < 0.2
    after = model.predict(observation, action)
    assert all(torch.equal(one, other) for one, other in zip(before[:3], after[:3], strict=True))


def test_bfloat16_keeps_weights_gradients_and_small_heads_in_float32():
    torch.manual_seed(0)
    model = build(replace(CONFIG, precision="bfloat16"))
    twin = build()
    twin.load_state_dict(model.state_dict())
    observation = torch.randint(0, 256, (4, 2, 3, 11, 8), dtype=torch.uint8)
    action = torch.tensor([0, 1, 2, 1])
    for network in (model, twin):
        draw(network.eval(), torch.Generator().manual_seed(0))
    low, exact = model(observation, action), twin(observation, action)
    assert [field.dtype for field in low] == [torch.bfloat16, torch.float32, torch.float32]
    for ours, plain in zip(low, exact, strict=True):
        torch.testing.assert_close(ours.float(), plain, atol=0.1, rtol=0.05)
    assert not torch.equal(low.reward, exact.reward)
    torch.testing.assert_close(
        model.expected_reward(observation, action), twin.expected_reward(observation, action), atol=0.02, rtol=0
    )
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}


def test_random_play_is_the_games_own_transitions():
    config = EnvConfig(num_frames=2)
    found = play_at_random("minatar/breakout", config, steps=60, seed=3)
    games = make_env("minatar/breakout", seed=3, config=config)
    observation = games.reset()
    for index, action in enumerate(found.action.tolist()):
        step = games.step([action])
        assert torch.equal(found.observation[index], torch.from_numpy(observation[0]))
        assert torch.equal(found.next_frame[index], torch.from_numpy(step.final_observation[0, -1]))
        assert found.reward[index] == step.reward[0]
        assert found.terminated[index] == step.terminated[0]
        observation = step.observation
    assert found.terminated.sum() > 0
    assert set(found.action.tolist()) == {0, 1, 2}


def test_both_precisions_are_fitted_and_compared():
    parts = []
    state = torch.get_rng_state()
    options = PrecisionOptions("minatar/breakout", steps=40, updates=4, frames=12)
    results = compare_precisions(options, lambda *part: parts.append(part))
    assert torch.equal(torch.get_rng_state(), state)
    assert [result.fitted_in for result in results] == ["float32", "bfloat16"]
    assert parts == [
        *(("fitting in float32", done, 8) for done in range(1, 5)),
        *(("fitting in bfloat16", done, 8) for done in range(5, 9)),
    ]
    for result in results:
        assert 0 < result.loss < 20
        assert 0 <= result.rounding.pixels < 0.1 < result.error.pixels, "rounding matters less than four updates do"
        assert result.rounding.largest_step <= result.error.largest_step == 1
    # The same fits, once more; and each has seen the same batches, so that only rounding sets them apart.
    assert compare_precisions(options) == results
    assert results[0].loss == pytest.approx(results[1].loss, rel=0.05)
    assert results[0].loss != results[1].loss


def test_images_are_resized():
    (result, _) = compare_precisions(PrecisionOptions("atari/pong", steps=10, updates=1, frames=3))
    # One frame has 3 x 53 x 40 values; the share that differs is a whole number of them.
    assert result.error.pixels * 3 * 3 * 53 * 40 == pytest.approx(
        round(result.error.pixels * 3 * 3 * 53 * 40), abs=1e-2
    )
    assert 1 < result.error.largest_step <= 255


def test_an_unknown_game_is_refused():
    with pytest.raises(UnknownGame, match="did you mean minatar/breakout"):
        compare_precisions(PrecisionOptions("minatar/breakuot"))
