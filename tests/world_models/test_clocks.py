import pytest
import torch

from evade.world_models.clocks import Clocks


def random_frames(num_frames, channels, seed):
    generator = torch.Generator().manual_seed(seed)
    return (torch.rand(3, num_frames, channels, 3, 4, generator=generator) < 0.1).to(torch.uint8)


@pytest.mark.parametrize("counts", [False, True])
def test_new_clocks_change_nothing(counts):
    clocks = Clocks(num_frames=4, channels=2, size=8, counts=counts)
    observation = random_frames(4, 2, seed=0)
    assert (clocks(clocks.count_ages(observation), observation[:, -1], None) == 0).all()


def test_a_count_is_seen_where_nothing_changes():
    clocks = Clocks(num_frames=3, channels=1, size=8, counts=True)
    torch.nn.init.normal_(clocks.embedding.weight)
    still = torch.zeros(3, 3, 1, 6, 6, dtype=torch.uint8)
    still[1, :, 0, 0, :2] = 1
    still[2, :, 0, :5] = 1
    is_single = torch.tensor([False])
    few, more, many = clocks(clocks.count_ages(still), still[:, -1], is_single)
    assert not torch.equal(few, more)
    # Counts above the highest one look the same.
    still[2, :, 0] = 1
    assert torch.equal(clocks(clocks.count_ages(still), still[:, -1], is_single)[2], many)


def test_a_single_object_that_jumps_is_not_born():
    clocks = Clocks(num_frames=3, channels=1, size=8, counts=True)
    torch.nn.init.normal_(clocks.embedding.weight)
    jump, step = torch.zeros(2, 1, 3, 1, 6, 6, dtype=torch.uint8)
    jump[0, :2, 0, 0, 0] = step[0, :2, 0, 0, 0] = 1
    jump[0, 2, 0, 5, 5] = step[0, 2, 0, 0, 1] = 1
    seen = [
        [clocks(clocks.count_ages(each), each[:, -1], torch.tensor([is_single])) for each in (jump, step)]
        for is_single in (True, False)
    ]
    assert torch.equal(*seen[0])
    assert not torch.equal(*seen[1])
