import copy
import subprocess
import sys
from collections import deque

import gymnasium
import minigrid
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from minigrid.core.constants import IDX_TO_OBJECT
from minigrid.core.world_object import Ball

from evade.envs import make_env, spec
from evade.envs.games import MINIGRID, resolve
from evade.envs.minigrid import ACTIONS, COLOURS, DIRECTIONS, MiniGridGame, find_contents
from evade.envs.settings import EnvConfig
from evade.errors import ActionError, ConfigError, ExtraMissing, UnsupportedGame

LEFT, RIGHT, FORWARD = range(3)
AGENT = ("facing right", "facing down", "facing left", "facing up", "agent")
DOOR = ("door open", "door closed", "door locked")
ALL_IDS = [env_id for env_id in gymnasium.registry if env_id.startswith("MiniGrid-") and "WFC" not in env_id]
SUITE = {
    "DoorKey-5x5": (5, 5, 6, (*AGENT, "carried key", "key", *DOOR, "goal", "wall")),
    "DoorKey-6x6": (6, 6, 6, (*AGENT, "carried key", "key", *DOOR, "goal", "wall")),
    "DoorKey-8x8": (8, 8, 6, (*AGENT, "carried key", "key", *DOOR, "goal", "wall")),
    "Empty-8x8": (8, 8, 3, (*AGENT, "goal", "wall")),
    "LavaGapS6": (6, 6, 3, (*AGENT, "goal", "lava", "wall")),
    "FourRooms": (19, 19, 3, (*AGENT, "goal", "wall")),
    "UnlockPickup": (6, 11, 6, (*AGENT, "carried key", "carried box", "key", "box", *DOOR, "wall")),
}


def build(name, **options):
    return MiniGridGame(resolve(f"minigrid/{name}").minigrid_id, **options)


def show(env, frame):
    """The names of the channels that are set in each cell: {(row, column): names}."""
    cells = {}
    for channel, row, column in np.argwhere(frame):
        cells.setdefault((int(row), int(column)), set()).add(env.channels[channel])
    return cells


def read_state(game):
    """What a frame should show, read from the package's own encoding of the grid."""
    cells = {}
    encoded = game.grid.encode()
    for column, row in np.ndindex(game.width, game.height):
        kind, _, state = encoded[column, row]
        name = IDX_TO_OBJECT[int(kind)]
        if name == "door":
            name = f"door {('open', 'closed', 'locked')[state]}"
        if name not in ("empty", "floor"):
            cells[row, column] = {name}
    column, row = game.agent_pos
    cells.setdefault((row, column), set()).update({"agent", f"facing {DIRECTIONS[game.agent_dir]}"})
    if game.carrying is not None:
        cells[row, column].add(f"carried {game.carrying.type}")
    return cells


@pytest.mark.parametrize("game", MINIGRID, ids=lambda game: game.id)
def test_the_documented_games(game):
    height, width, num_actions, channels = SUITE[game.id]
    found = spec(game.name)
    assert (found.channels, found.height, found.width, found.levels) == (len(channels), height, width, 2)
    assert found.num_actions == num_actions
    assert (found.lowest_reward, found.highest_reward) == (0, 1)
    assert build(game.id).channels == channels


@pytest.mark.parametrize("name", SUITE)
def test_frames_are_the_packages_own_grid(name):
    env = build(name)
    game = env._game
    rng = np.random.default_rng(0)
    seen = set()
    for seed in range(3):
        frame, _ = env.reset(seed=seed)
        for _ in range(150):
            assert frame.dtype == np.uint8
            cells = show(env, frame)
            assert cells == read_state(game)
            seen |= set().union(*cells.values())
            frame, _, terminated, truncated, _ = env.step(int(rng.integers(env.action_space.n)))
            if terminated or truncated:
                frame, _ = env.reset()
    assert set(AGENT) <= seen
    if name == "DoorKey-5x5":
        assert "carried key" in seen


@pytest.mark.parametrize("name", ["DoorKey-5x5", "LavaGapS6", "Empty-8x8"])
def test_the_game_is_the_packages_own(name):
    env, package = build(name, minimal_actions=False), gymnasium.make(f"MiniGrid-{name}-v0").unwrapped
    rng = np.random.default_rng(1)
    env.reset(seed=3)
    package.reset(seed=3)
    rewards = 0
    for _ in range(1500):
        action = int(rng.choice(7, p=[0.15, 0.15, 0.4, 0.1, 0.05, 0.1, 0.05]))
        frame, reward, terminated, truncated, _ = env.step(action)
        _, package_reward, *ends, _ = package.step(action)
        assert [terminated, truncated] == ends
        assert reward == (1.0 if package_reward > 0 else 0.0)
        assert show(env, frame) == read_state(package)
        rewards += reward
        if terminated or truncated:
            env.reset()
            package.reset()
    assert rewards > 0


def test_picking_up_the_box_behind_the_door_is_success():
    env = build("UnlockPickup")
    env.reset(seed=2)
    game = env._game
    (row, column), *others = np.argwhere(env._frame()[env.channels.index("box")]).tolist()
    assert others == []
    # Beside the box, with a wall or nothing on its other sides: where a neighbouring cell is free.
    facing = [(0, -1, 0), (1, 0, -1), (2, 1, 0), (3, 0, 1)]
    direction, right, down = next(
        (direction, right, down)
        for direction, right, down in facing
        if game.grid.get(column + right, row + down) is None
    )
    game.agent_pos, game.agent_dir = (column + right, row + down), direction
    frame, reward, terminated, truncated, _ = env.step(ACTIONS.index("pickup"))
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert {"agent", "carried box"} < show(env, frame)[row + down, column + right]
    assert (row, column) not in show(env, frame)


def explore(env):
    """All states that can be reached from the present one, by breadth-first search over frames.

    Returns:
        For each frame and action: the next frame, reward and end; and for each frame the actions that lead to it.
    """
    start = env._frame()
    outcomes, paths, waiting = {}, {start.tobytes(): []}, deque([env])
    while waiting:
        here = waiting.popleft()
        frame = here._frame().tobytes()
        for action in range(int(env.action_space.n)):
            there = copy.deepcopy(here)
            there._game.step_count = 0
            after, reward, terminated, _, _ = there.step(action)
            outcomes[frame, action] = (after.tobytes(), reward, terminated)
            if after.tobytes() not in paths:
                paths[after.tobytes()] = [*paths[frame], action]
                if not terminated:
                    waiting.append(there)
    return outcomes, paths


def test_a_door_is_opened_with_the_key_and_the_goal_pays_one_whenever_it_is_reached():
    env = build("DoorKey-5x5")
    env.reset(seed=1)
    outcomes, paths = explore(copy.deepcopy(env))
    assert all(terminated == (reward == 1) for _, reward, terminated in outcomes.values())
    solution = min((paths[after] for after, reward, _ in outcomes.values() if reward == 1), key=len)
    names = [ACTIONS[env._actions[action]] for action in solution]
    assert names.count("pickup") == names.count("toggle") == 1
    assert names.index("pickup") < names.index("toggle")
    for wasted in (0, 100):
        env.reset(seed=1)
        steps = [env.step(action) for action in [LEFT, RIGHT] * (wasted // 2) + solution]
        assert [step[1] for step in steps] == [0.0] * (len(steps) - 1) + [1.0]
        assert steps[-1][2:4] == (True, False)
    cells = show(env, steps[-1][0])
    assert not any("key" in names or "door locked" in names for names in cells.values())
    (cell,) = [names for names in cells.values() if "agent" in names]
    assert {"agent", "carried key", "goal"} < cell


def test_a_frame_is_the_whole_state():
    # Random play in one layout: the same frame and action always lead to the same frame, reward and end.
    for name in ("DoorKey-5x5", "UnlockPickup"):
        env = build(name)
        rng = np.random.default_rng(0)
        outcomes = {}
        repeats = 0
        for _ in range(30):
            frame, _ = env.reset(seed=4)
            for _ in range(100):
                action = int(rng.integers(env.action_space.n))
                key = (frame.tobytes(), action)
                frame, reward, terminated, _, _ = env.step(action)
                repeats += key in outcomes
                assert outcomes.setdefault(key, (frame.tobytes(), reward, terminated)) == (
                    frame.tobytes(),
                    reward,
                    terminated,
                )
                if terminated:
                    break
        assert repeats > 100


@pytest.mark.parametrize("name", ["DoorKey-5x5", "LavaGapS6"])
def test_an_action_changes_only_cells_next_to_the_agent(name):
    env = build(name)
    rng = np.random.default_rng(0)
    frame, _ = env.reset(seed=0)
    for _ in range(500):
        column, row = env._game.agent_pos
        after, _, terminated, truncated, _ = env.step(int(rng.integers(env.action_space.n)))
        changed = np.argwhere((frame != after).any(0))
        assert all(abs(r - row) + abs(c - column) <= 1 for r, c in changed)
        frame = env.reset()[0] if terminated or truncated else after


def test_lava_ends_the_game_without_a_reward():
    env = build("LavaGapS6")
    rng = np.random.default_rng(0)
    burnt = 0
    env.reset(seed=0)
    for _ in range(600):
        frame, reward, terminated, truncated, _ = env.step(int(rng.integers(3)))
        if terminated:
            (cell,) = [names for names in show(env, frame).values() if "agent" in names]
            assert ("lava" in cell, "goal" in cell) == (reward == 0, reward == 1)
            burnt += "lava" in cell
        if terminated or truncated:
            env.reset()
    assert burnt > 0


def test_the_games_own_step_limit_truncates():
    env = make_env("minigrid/LavaGapS6")
    env.reset()
    steps = [env.step([LEFT]) for _ in range(144)]
    assert [step.truncated.item() for step in steps] == [False] * 143 + [True]
    assert not any(step.terminated.item() for step in steps)
    assert steps[-1].episodes[0].length == 144


def test_a_shorter_time_limit_can_be_set():
    env = make_env("minigrid/Empty-8x8", config=EnvConfig(time_limit=5))
    env.reset()
    assert [env.step([LEFT]).truncated.item() for _ in range(5)] == [False] * 4 + [True]


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("Empty-5x5", ["left", "right", "forward"]),
        ("DoorKey-8x8", ["left", "right", "forward", "pickup", "drop", "toggle"]),
        ("MultiRoom-N6", ["left", "right", "forward", "toggle"]),
        ("GoToDoor-5x5", ["left", "right", "forward", "toggle", "done"]),
        ("Dynamic-Obstacles-5x5", ["left", "right", "forward"]),
    ],
)
def test_only_actions_with_an_effect_are_offered(name, names):
    env_id = resolve(f"minigrid/{name}").minigrid_id
    assert [ACTIONS[number] for number in find_contents(env_id).actions] == names
    assert [ACTIONS.index(name) for name in names] == list(MiniGridGame(env_id)._actions)
    assert [action.name for action in gymnasium.make(env_id).unwrapped.actions] == list(ACTIONS)


def test_all_actions_can_be_offered():
    assert spec("minigrid/DoorKey-5x5", EnvConfig(minimal_actions=False)).num_actions == 7
    assert spec("minigrid/Dynamic-Obstacles-5x5", EnvConfig(minimal_actions=False)).num_actions == 3


@pytest.mark.parametrize(
    ("name", "coloured", "colours"),
    [
        ("DoorKey-5x5", set(), ()),  # one key, one door
        ("KeyCorridorS3R3", set(), ()),  # doors of many colours, but one lock
        ("MultiRoom-N6", set(), ()),  # doors of many colours, none locked
        ("ObstructedMaze-2Dl", {"key", "door"}, COLOURS),  # two keys, two locks
        ("ObstructedMaze-1Dlhb", {"ball"}, ("green", "blue")),  # the blue ball is wanted, green ones are in the way
        ("RedBlueDoors-6x6", {"door"}, ("red", "blue")),
        ("Fetch-8x8-N3", {"key", "ball"}, COLOURS),
    ],
)
def test_colours_are_shown_where_they_matter(name, coloured, colours):
    contents = find_contents(resolve(f"minigrid/{name}").minigrid_id)
    assert contents.coloured == coloured
    assert contents.colours == colours
    assert [channel for channel in contents.channels if channel in COLOURS] == list(colours)


def test_colours_of_cells_and_of_what_is_carried():
    env = build("ObstructedMaze-2Dl")
    frame, _ = env.reset(seed=0)
    game = env._game
    for column, row in np.ndindex(game.width, game.height):
        thing = game.grid.get(column, row)
        shown = show(env, frame).get((row, column), set()) - set(AGENT)
        if thing is not None and thing.type in ("key", "door"):
            assert thing.color in shown
        else:
            assert not shown & set(COLOURS)
    key = next(thing for thing in game.grid.grid if thing is not None and thing.type == "key")
    game.carrying = key
    column, row = game.agent_pos
    assert {"carried key", f"carried {key.color}"} <= show(env, env._frame())[row, column]


def test_boxes_hide_keys_until_they_are_opened():
    env = build("ObstructedMaze-1Dlh")
    assert {"key", "box", "carried key"} <= set(env.channels)
    frame, _ = env.reset(seed=0)
    assert frame[env.channels.index("key")].sum() == 0
    game = env._game
    place = next((i, j) for i, j in np.ndindex(game.width, game.height) if game.grid.encode()[i, j, 0] == 7)
    game.grid.get(*place).toggle(game, place)
    frame = env._frame()
    assert frame[env.channels.index("key"), place[1], place[0]] == 1
    assert frame[env.channels.index("box")].sum() == 0


def test_collisions_end_the_game_without_a_negative_reward():
    env = build("Dynamic-Obstacles-5x5")
    rng = np.random.default_rng(0)
    rewards, ends = [], 0
    env.reset(seed=0)
    for _ in range(300):
        _, reward, terminated, truncated, _ = env.step(int(rng.integers(3)))
        rewards.append(reward)
        ends += terminated
        if terminated or truncated:
            env.reset()
    assert ends > sum(rewards)
    assert min(rewards) == 0.0


@pytest.mark.parametrize("env_id", ALL_IDS)
def test_every_registered_game_has_channels_for_all_it_shows(env_id):
    env = MiniGridGame(env_id)
    rng = np.random.default_rng(0)
    for seed in range(1000, 1010):
        frame, _ = env.reset(seed=seed)
        for _ in range(10):
            assert frame[env.channels.index("agent")].sum() == 1
            assert frame[:4].sum() == 1
            frame, _, terminated, truncated, _ = env.step(int(rng.integers(env.action_space.n)))
            if terminated or truncated:
                break


def test_a_thing_without_a_channel_is_an_error():
    env = build("Empty-5x5")
    env.reset(seed=0)
    env._game.grid.set(1, 2, Ball())
    with pytest.raises(UnsupportedGame, match="MiniGrid-Empty-5x5-v0 shows 'ball', for which it has no channel"):
        env.step(LEFT)


def trace(env, seed):
    frames = [env.reset(seed=seed)[0]]
    rng = np.random.default_rng(0)
    for _ in range(400):
        frame, _, terminated, truncated, _ = env.step(int(rng.integers(env.action_space.n)))
        frames.append(env.reset()[0] if terminated or truncated else frame)
    return np.stack(frames)


@pytest.mark.parametrize("name", ["DoorKey-5x5", "LavaGapS6", "FourRooms"])
def test_a_seed_determines_everything_that_follows(name):
    fresh, used = build(name), build(name)
    trace(used, seed=1)
    np.testing.assert_array_equal(trace(fresh, seed=2**40), trace(used, seed=2**40))
    assert not np.array_equal(trace(fresh, seed=1), trace(fresh, seed=2))


def test_each_episode_has_another_layout():
    env = build("DoorKey-6x6")
    layouts = {env.reset(seed=0 if number == 0 else None)[0].tobytes() for number in range(20)}
    assert len(layouts) > 15


@pytest.mark.parametrize("name", ["DoorKey-5x5", "Empty-8x8", "UnlockPickup"])
def test_gymnasiums_checker_finds_nothing(name, register):
    check_env(gymnasium.make(register(MiniGridGame, env_id=f"MiniGrid-{name}-v0")).unwrapped)


@pytest.mark.parametrize("action", [-1, 3])
def test_an_action_the_game_does_not_have_is_refused(action):
    env = build("Empty-8x8")
    env.reset(seed=0)
    with pytest.raises(ActionError, match=f"Invalid action {action}: must be 0 to 2 in this game"):
        env.step(action)


def test_a_grid_cannot_be_resized():
    with pytest.raises(
        ConfigError, match=r"Invalid env.frame_size = \(5, 5\): .*minigrid/UnlockPickup is a grid of 6x11"
    ):
        make_env("minigrid/UnlockPickup", config=EnvConfig(frame_size=(5, 5)))


def test_actions_can_be_sticky():
    env = make_env("minigrid/Empty-8x8", 300, seed=0, config=EnvConfig(sticky_probability=0.25, num_frames=1))
    env.reset()
    env.step([LEFT] * 300)
    facing = env.step([RIGHT] * 300).observation[:, 0, :4].sum((2, 3)).argmax(1)
    # Facing right again, or up twice left of it where the left turn was repeated.
    assert set(facing.tolist()) == {0, 2}
    assert abs((facing == 2).mean() - 0.25) < 5 * (0.25 * 0.75 / 300) ** 0.5


def test_a_rendered_image_has_a_colour_for_each_channel():
    env = build("Empty-8x8", render_mode="rgb_array", render_scale=2)
    env.reset(seed=0)
    assert env.render().shape == (16, 16, 3)
    assert build("Empty-8x8").render() is None


def test_without_minigrid_the_extra_is_named(monkeypatch):
    find_contents.cache_clear()
    monkeypatch.setitem(sys.modules, "minigrid", None)
    with pytest.raises(ExtraMissing, match=r"minigrid is not installed: run  pip install 'evade\[minigrid\]'"):
        make_env("minigrid/DoorKey-5x5")


def test_a_game_that_needs_more_packages_says_which(monkeypatch):
    monkeypatch.setitem(sys.modules, "imageio", None)
    with pytest.raises(ExtraMissing, match=r"MiniGrid-WFC-MazeSimple-v0 needs another package: .*minigrid\[wfc\]"):
        make_env("minigrid/WFC-MazeSimple")


def test_making_a_game_prints_nothing():
    code = "from evade.envs import make_env; make_env('minigrid/MultiRoom-N4-S5').reset()"
    result = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert result.stdout + result.stderr == ""


def test_the_version_these_tests_know():
    assert minigrid.__version__.startswith("3.")
