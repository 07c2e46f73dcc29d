"""Build a batch of a game by its name: "atari/pong" -> `VectorEnv`."""

from collections.abc import Callable

from evade.checks import require
from evade.envs.atari import build_atari
from evade.envs.deepsea import build_deepsea
from evade.envs.games import Game, Kind, Protocol, choose_protocol, resolve
from evade.envs.minatar import build_minatar
from evade.envs.minigrid import build_minigrid
from evade.envs.names import Names, find_names
from evade.envs.pixels import FrameObservation, build_pixels
from evade.envs.preprocess import Env, follow_protocol
from evade.envs.settings import EnvConfig
from evade.envs.vector import VectorEnv
from evade.game_spec import GameSpec

PLAIN = EnvConfig()
"""Every setting at the default of the game's family."""

Builder = Callable[[Game, EnvConfig], Env]

IMAGE_BUILDERS: dict[Kind, Builder] = {"atari": build_atari, "gymnasium": build_pixels}
"""Families whose observations go through `FrameObservation`, which also accepts grids of unknown environments."""
GRID_BUILDERS: dict[Kind, Builder] = {"minatar": build_minatar, "minigrid": build_minigrid, "deepsea": build_deepsea}
"""Families of grids of objects, whose observations are frames already."""


def make_env(game: str, num_envs: int = 1, seed: int = 0, config: EnvConfig = PLAIN, first: int = 0) -> VectorEnv:
    """Make a batch of one game.

    Args:
        game: any name `evade.envs.games.resolve` knows: `atari/pong`, `minigrid/DoorKey-5x5`, a Gymnasium id.
        num_envs: N, the number of games that step together.
        seed: game i of the batch is determined by (seed, first + i) and its actions.
        config: how the game is played, and how many frames an observation stacks.
        first: number of the first game, to play one game of a larger batch again.
    """
    require(num_envs >= 1, "num_envs", num_envs, "must be at least 1")
    require(seed >= 0, "seed", seed, "must not be negative")
    found = resolve(game)
    protocol = choose_protocol(found, config)
    envs = [_build_env(found, config, protocol) for _ in range(num_envs)]
    return VectorEnv(envs, _measure(envs[0], protocol), seed, config.num_frames, first, config.reward_scale)


def spec(game: str, config: EnvConfig = PLAIN) -> GameSpec:
    """The frame shape, number of actions and reward range of a game played with these settings."""
    env, measured = build_game(game, config)
    env.close()
    return measured


def build_game(game: str, config: EnvConfig = PLAIN) -> tuple[Env, GameSpec]:
    """Build one game, with frames uint8 `[C, H, W]` and raw rewards, and its spec."""
    found = resolve(game)
    protocol = choose_protocol(found, config)
    env = _build_env(found, config, protocol)
    try:
        return env, _measure(env, protocol)
    except BaseException:
        env.close()
        raise


def names(game: str, config: EnvConfig = PLAIN) -> Names:
    """What people call the actions of a game and the channels of its frames."""
    found = resolve(game)
    env = _build_env(found, config, choose_protocol(found, config))
    try:
        return find_names(env)
    finally:
        env.close()


def _build_env(game: Game, config: EnvConfig, protocol: Protocol) -> Env:
    """Build one game with its protocol's wrappers: frames uint8 `[C, H, W]`, raw rewards."""
    if game.kind in IMAGE_BUILDERS:
        env = follow_protocol(IMAGE_BUILDERS[game.kind](game, config), protocol)
        return FrameObservation(env, game.name, protocol.frame_size, protocol.grey_levels, config.binary_channels)
    env = GRID_BUILDERS[game.kind](game, config)
    _, height, width = env.observation_space.shape  # type: ignore[misc] # every builder makes a Box with three axes
    rule = f"must be None, because {game.name} is a grid of {height}x{width} cells and not an image"
    for field in ("frame_size", "grey_levels"):
        require(getattr(protocol, field) is None, f"env.{field}", getattr(protocol, field), rule)
    return follow_protocol(env, protocol)


def _measure(env: Env, protocol: Protocol) -> GameSpec:
    """The spec of a built game."""
    frames, actions = env.observation_space, env.action_space
    channels, height, width = frames.shape  # type: ignore[misc] # every builder makes a Box with three axes
    lowest, highest = protocol.reward_range
    return GameSpec(
        channels=channels,
        height=height,
        width=width,
        levels=int(frames.high.max()) + 1,  # type: ignore[attr-defined]
        num_actions=int(actions.n),  # type: ignore[attr-defined] # ... and Discrete actions
        lowest_reward=lowest,
        highest_reward=highest,
    )
