"""Dreams that follow the actions of real games."""

import torch

from evade.dreams.beside import dream_along
from fake_worlds import CountingModel, counting_segments


def frames_of(batches):
    """The frames of observations and what followed, one list of pairs for each step."""
    return [
        list(zip(batch.observation[:, -1].flatten().tolist(), batch.next_frame.flatten().tolist(), strict=True))
        for batch in batches
    ]


def test_a_perfect_models_dreams_are_the_game():
    batches = list(dream_along(CountingModel(), counting_segments([1, 2, 1], [0, 1]), torch.Generator()))
    assert frames_of(batches) == [[(0, 1), (1, 2)], [(1, 3), (2, 4)], [(3, 4), (4, 5)]]
    assert [batch.action.tolist() for batch in batches] == [[1, 1], [2, 2], [1, 1]]
    assert [batch.reward.tolist() for batch in batches] == [[1, 2], [3, 4], [4, 5]]


def test_dreams_go_on_from_their_own_errors():
    batches = dream_along(CountingModel(wrong_from=2), counting_segments([1, 1, 1], [0]), torch.Generator())
    assert frames_of(batches) == [[(0, 1)], [(1, 3)], [(3, 5)]]


def test_nothing_is_shown_after_the_end_of_the_game_or_of_the_dream():
    batches = dream_along(CountingModel(), counting_segments([1, 1, 1, 1], [3, 0]), torch.Generator())
    assert frames_of(batches) == [[(3, 4), (0, 1)], [(4, 5), (1, 2)], [(2, 3)], [(3, 4)]]
    # The dream is one step ahead of the game, and ends before it.
    batches = dream_along(CountingModel(wrong_from=4), counting_segments([1, 1, 1], [3]), torch.Generator())
    assert frames_of(batches) == [[(3, 5)], [], []]
