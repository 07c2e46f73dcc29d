import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import goldens
from evade.world_models.blocks import Standardise
from evade.world_models.pixel_noise import add_pixel_noise, median_colour, paint_over


def standardised(observation):
    flat = Standardise()(observation.flatten(1, 2).float())
    return np.moveaxis(flat.unflatten(1, observation.shape[1:3]).numpy(), 2, -1)


def test_noisy_input_matches_t2t_simple():
    golden = goldens.load("pixel_noise")
    observation = goldens.channels_first(golden["in/frames"])
    keep = torch.from_numpy(goldens.unpack(golden["out/mask_keep"], golden["in/frames"].shape[:-1]))
    assert median_colour(observation).tolist() == golden["out/median"].tolist()
    goldens.close(standardised(paint_over(observation, keep)), golden["out/train"], 5e-4)
    goldens.close(standardised(observation)[:, :, ::3, ::3], golden["out/eval_sub"], 5e-4)


def test_the_share_of_replaced_cells_is_the_probability():
    torch.manual_seed(0)
    observation = torch.randint(1, 255, (4, 4, 3, 60, 60), dtype=torch.uint8)
    observation[..., 0, 0] = 255  # no cell but these few can equal the median by chance in all channels
    noisy = add_pixel_noise(observation, 0.05)
    changed = (noisy != observation).any(dim=2)
    # 57,600 cells: five standard deviations of the share are 0.0045.
    assert abs(changed.float().mean().item() - 0.05) < 0.0045
    assert noisy.dtype == torch.uint8
    painted = noisy.permute(0, 1, 3, 4, 2)[changed]
    assert torch.equal(painted, median_colour(observation).expand_as(painted))


def test_no_noise_at_probability_zero():
    observation = torch.randint(0, 2, (2, 1, 4, 10, 10), dtype=torch.uint8)
    assert torch.equal(add_pixel_noise(observation, 0.0), observation)


@given(
    batch=st.integers(1, 3),
    frames=st.integers(1, 3),
    height=st.integers(1, 5),
    highest=st.sampled_from([1, 3, 255]),
    seed=st.integers(0, 1000),
)
@settings(deadline=None)
def test_the_counted_median_is_the_lower_of_the_middle_two(batch, frames, height, highest, seed):
    generator = torch.Generator().manual_seed(seed)
    shape = (batch, frames, 3, height, 2)
    observation = torch.randint(0, highest + 1, shape, dtype=torch.uint8, generator=generator)
    expected = [sorted(values)[(len(values) - 1) // 2] for values in observation.transpose(0, 2).flatten(1).tolist()]
    assert median_colour(observation).tolist() == expected
