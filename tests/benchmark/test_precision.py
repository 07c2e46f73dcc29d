from dataclasses import replace

import torch

from evade.config import EVADE, GameSpec, WorldModelConfig
from evade.layers import draw
from evade.records import Prediction
from evade.world_models import build_world_model, compare_predictions, predict_with

GAME = GameSpec(channels=3, height=11, width=8, levels=256, num_actions=3)
CONFIG = WorldModelConfig(num_frames=2, hidden_size=16, depth=2, event_layers=EVADE, predicts_end=True)


def test_a_gap_counted_by_hand():
    frame = torch.zeros(2, 1, 2, 2, dtype=torch.uint8)
    other = frame.clone()
    other[1, 0, 0, 0], other[1, 0, 1, 1] = 255, 3
    one = Prediction(frame, torch.tensor([0.0, 1.0]), torch.tensor([False, False]))
    two = Prediction(other, torch.tensor([0.0, 1.0]), torch.tensor([True, False]))
    assert compare_predictions(one, two) == compare_predictions(two, one) == (2 / 8, 1 / 2, 255, 0, 1 / 2)
    assert compare_predictions(one, one) == (0, 0, 0, 0, 0)


def test_the_model_and_its_draw_stay_as_they_are():
    torch.manual_seed(0)
    model = build_world_model(CONFIG, GAME).eval()
    draw(model, torch.Generator().manual_seed(0))
    observation = torch.randint(0, 256, (5, 2, 3, 11, 8), dtype=torch.uint8)
    action = torch.tensor([0, 1, 2, 1, 0])
    before = model.predict(observation, action)
    exact, low = (predict_with(model, kind, observation, action, batch_size=2) for kind in ("float32", "bfloat16"))
    assert model.config == CONFIG
    assert compare_predictions(before, exact) == (0, 0, 0, 0, 0)
    gap = compare_predictions(exact, low)
    # An unfitted network's scores lie close together, so some pixels must differ, but only some.
    assert 0 < gap.pixels < 0.2
    after = model.predict(observation, action)
    assert all(torch.equal(one, other) for one, other in zip(before, after, strict=True))


def test_bfloat16_keeps_weights_gradients_and_small_heads_in_float32():
    torch.manual_seed(0)
    model = build_world_model(replace(CONFIG, precision="bfloat16"), GAME)
    twin = build_world_model(CONFIG, GAME)
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
