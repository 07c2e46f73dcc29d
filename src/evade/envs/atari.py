"""Atari games through ale-py and Gymnasium, with the emulator's own preprocessing switched off."""

import gymnasium

from evade.envs.extras import import_extra
from evade.envs.games import Game
from evade.envs.preprocess import Env
from evade.envs.settings import EnvConfig


def build_atari(game: Game, config: EnvConfig) -> Env:
    """Build the bare emulator: 210x160 RGB frames, raw rewards, terminated only at game over.

    No frame skip and no time limit inside (the protocol adds both). Sticky actions and the action set follow `config`.
    Losing a life does not end the episode, and FIRE is not pressed on reset.
    """
    ale_py = import_extra("ale_py", extra="atari")
    # Otherwise the emulator prints a banner when it loads its first ROM.
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    gymnasium.register_envs(ale_py)
    return gymnasium.make(
        game.ale_id,
        frameskip=1,
        repeat_action_probability=config.sticky_probability,
        full_action_space=not config.minimal_actions,
        max_num_frames_per_episode=0,
        disable_env_checker=True,
    )
