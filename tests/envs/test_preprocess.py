from fractions import Fraction
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from evade.envs.games import Protocol
from evade.envs.preprocess import MaxAndSkip, NoopStart, area_resize, clip_reward, follow_protocol, reduce_greys
from evade.errors import ConfigError
from fake_games import CountingGame, TapeGame


@pytest.fixture(scope="module")
def golden():
    """Recorded from T2T SimPLe's own environment classes around a game that returns given frames."""
    path = Path(__file__).parents[1] / "golden" / "preprocessing.npz"
    with np.load(path, allow_pickle=False) as file:
        return dict(file)


@pytest.fixture(scope="module")
def raw(golden):
    """The golden set's input frames, as its formulas define them."""
    uniform = np.random.RandomState(int(golden["meta/input_seed"])).random_sample((6, 210, 160, 3))
    frames = np.floor(256 * uniform).astype(np.uint8)
    frames[4] = frames[4] // 85 * 85
    row, column, colour = np.ogrid[:210, :160, :3]
    frames[5] = (7 * row + 13 * column + 50 * colour) % 256
    return frames


def test_frames_are_resized_as_in_t2t_simple(golden, raw):
    resized = np.stack([area_resize(frame, 105, 80) for frame in raw])
    assert resized.dtype == np.uint8
    np.testing.assert_array_equal(resized[0], golden["out/resized_frame0"])
    np.testing.assert_array_equal(resized[:, ::4], golden["out/resized_rows4"])
    np.testing.assert_array_equal(resized.sum(axis=(1, 2), dtype=np.int64), golden["out/resized_sums"])


@given(
    hnp.arrays(np.uint8, st.tuples(st.integers(1, 3), st.integers(1, 3), st.sampled_from([1, 2, 3]))),
    st.integers(2, 256),
)
def test_greys_are_equal_steps_of_exact_brightness(image, levels):
    shares = [Fraction(299, 1000), Fraction(587, 1000), Fraction(114, 1000)]
    if image.shape[2] != 3:
        shares = [Fraction(1, image.shape[2])] * image.shape[2]
    greys = reduce_greys(image, levels)
    assert greys.dtype == np.uint8
    assert greys.shape == (*image.shape[:2], 1)
    for place in np.ndindex(image.shape[:2]):
        brightness = sum(share * int(value) for share, value in zip(shares, image[place], strict=True))
        assert greys[place] == int(brightness * levels / 256)


def test_greys_go_from_black_to_white_and_256_of_a_grey_picture_change_nothing():
    ramp = np.arange(256, dtype=np.uint8).reshape(16, 16, 1)
    np.testing.assert_array_equal(reduce_greys(ramp, 256), ramp)
    np.testing.assert_array_equal(reduce_greys(ramp.repeat(3, axis=2), 256), ramp)
    np.testing.assert_array_equal(np.bincount(reduce_greys(ramp, 16).ravel()), [16] * 16)


def test_rewards_are_clipped_and_rounded_as_in_t2t_simple(golden):
    np.testing.assert_array_equal(clip_reward(golden["in/rewards"]), golden["out/rewards_clipped"])
    np.testing.assert_array_equal(clip_reward(golden["out/skip_reward_sum"]), golden["out/skip_reward_clipped"])


def test_rewards_can_be_clipped_to_another_range():
    np.testing.assert_array_equal(clip_reward([-3.0, 0.5, 1.5, 2.5, 9.0], 0, 4), [0, 0, 2, 2, 4])


def test_frames_are_skipped_and_pooled_as_in_t2t_simple(golden, raw):
    order = golden["in/skip_frame_order"].reshape(-1)
    env = MaxAndSkip(TapeGame(raw[order], golden["in/skip_rewards"]), skip=4)
    env.reset(seed=0)
    steps = [env.step(1) for _ in range(3)]
    seen = np.stack([area_resize(step[0], 105, 80) for step in steps])
    np.testing.assert_array_equal([step[1] for step in steps], golden["out/skip_reward_sum"])
    np.testing.assert_array_equal(seen[:, ::4], golden["out/skip_observation_rows4"])
    np.testing.assert_array_equal(seen.sum(axis=(1, 2), dtype=np.int64), golden["out/skip_observation_sums"])


def test_an_episode_that_ends_within_a_skip_shows_the_frames_of_the_step_before(golden, raw):
    order = golden["in/skip_frame_order"].reshape(-1)
    tape = TapeGame(raw[order], golden["in/skip_rewards"], ends_at={5})
    env = MaxAndSkip(tape, skip=4)
    env.reset(seed=0)
    first, second = env.step(1), env.step(1)
    np.testing.assert_array_equal([first[1], second[1]], golden["out/early_done_reward_sum"])
    assert (first[2], second[2]) == (False, True)
    assert tape.position == 6
    np.testing.assert_array_equal(second[0], np.maximum(raw[order[2]], raw[order[3]]))


def test_an_end_at_the_third_frame_overwrites_one_of_the_two_kept_frames(raw):
    tape = TapeGame(raw[[0, 1, 2, 3, 4, 5, 0]], np.zeros(7), ends_at={6})
    env = MaxAndSkip(tape, skip=4)
    env.reset(seed=0)
    env.step(1)
    np.testing.assert_array_equal(env.step(1)[0], np.maximum(raw[0], raw[3]))


def test_kept_frames_outlive_a_reset_but_not_a_seeded_one():
    def show_after(**reset):
        env = MaxAndSkip(TapeGame([np.full((1, 1), n, np.uint8) for n in range(1, 9)], np.zeros(8), {4}), 4)
        env.reset(seed=0)
        env.step(0)
        env.reset(**reset)
        return env.step(0)[0].item()

    assert show_after() == 4
    assert show_after(seed=0) == 0


def exact_area_mean(image, height, width):
    """The documented rule, cell by cell in exact fractions."""
    rows, columns = image.shape
    result = np.zeros((height, width), np.uint8)
    for y in range(height):
        for x in range(width):
            top, left = Fraction(y * rows, height), Fraction(x * columns, width)
            bottom, right = Fraction((y + 1) * rows, height), Fraction((x + 1) * columns, width)
            total = sum(
                int(image[i, j]) * (min(bottom, i + 1) - max(top, i)) * (min(right, j + 1) - max(left, j))
                for i in range(int(top), -int(-bottom // 1))
                for j in range(int(left), -int(-right // 1))
            )
            result[y, x] = total / ((bottom - top) * (right - left)) // 1
    return result


sizes = st.tuples(st.integers(1, 9), st.integers(1, 9))


@settings(deadline=None)
@given(image=sizes.flatmap(lambda size: hnp.arrays(np.uint8, size)), target=sizes)
def test_any_resize_is_the_floor_of_the_exact_mean_over_the_area(image, target):
    np.testing.assert_array_equal(area_resize(image, *target), exact_area_mean(image, *target))


@pytest.mark.parametrize("size", [(53, 40), (84, 84)])
def test_a_reduced_atari_frame_is_exact_in_every_colour(raw, size):
    resized = area_resize(raw[5], *size)
    assert resized.shape == (*size, 3)
    for colour in range(3):
        np.testing.assert_array_equal(resized[:, :, colour], exact_area_mean(raw[5, :, :, colour], *size))


def test_a_white_frame_stays_white_at_every_size():
    white = np.full((210, 160, 3), 255, np.uint8)
    for size in ((105, 80), (53, 40), (7, 159)):
        assert (area_resize(white, *size) == 255).all()


def test_the_number_of_noops_is_uniform_from_1_to_the_maximum():
    game = CountingGame(length=99)
    env = NoopStart(game, max_noops=8)
    env.reset(seed=3)
    lengths = [game.steps]
    for _ in range(1999):
        env.reset()
        lengths.append(game.steps)
    counts = np.bincount(lengths, minlength=9)
    assert counts[0] == 0
    assert len(counts) == 9
    assert counts[1:].min() > 190  # 250 expected, deviation 15
    assert set(game.actions) == {0}


def test_noops_are_determined_by_the_seed():
    def count_noops(seed):
        game = CountingGame(length=99)
        env = NoopStart(game, max_noops=8)
        lengths = []
        for number in range(20):
            env.reset(seed=seed if number == 0 else None)
            lengths.append(game.steps)
        return lengths

    assert count_noops(1) == count_noops(1)
    assert count_noops(1) != count_noops(2)


def test_a_game_that_ends_during_noops_is_reset_and_they_continue():
    game = CountingGame(length=2)
    env = NoopStart(game, max_noops=8)
    for number in range(50):
        taken = len(game.actions)
        frame, _ = env.reset(seed=number)
        noops = len(game.actions) - taken
        assert game.steps == noops % 2
        assert (frame == (10 * game.episode + game.steps) % 256).all()
        game.episode = 0


def protocol(**changes):
    plain = {"frame_size": None, "frame_skip": 1, "max_noops": 0, "time_limit": None, "reward_range": (-1, 1)}
    return Protocol(**{**plain, **changes})


def test_the_time_limit_counts_agent_steps_and_noops():
    env = follow_protocol(CountingGame(length=99), protocol(frame_skip=4, max_noops=1, time_limit=3))
    env.reset(seed=0)
    ends = [env.step(1)[2:4] for _ in range(2)]
    assert ends == [(False, False), (False, True)]
    assert env.unwrapped.steps == 12


def test_a_plain_protocol_adds_nothing():
    game = CountingGame()
    assert follow_protocol(game, protocol()) is game


def test_a_time_limit_that_noops_alone_could_reach_is_refused():
    with pytest.raises(ConfigError, match=r"Invalid env.time_limit = 8: must be above env.max_noops = 8"):
        follow_protocol(CountingGame(), protocol(max_noops=8, time_limit=8))


def test_the_wrappers_are_gymnasium_wrappers():
    env = follow_protocol(CountingGame(), protocol(frame_skip=2, max_noops=2, time_limit=9))
    assert isinstance(env, gymnasium.Wrapper)
    assert isinstance(env.unwrapped, CountingGame)
