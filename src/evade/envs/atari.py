"""Atari games through ale-py and Gymnasium, with nothing of the emulator's own tricks left on."""

import gymnasium

from evade.envs.extras import import_extra
from evade.envs.games import Game
from evade.envs.preprocess import Env
from evade.envs.settings import EnvConfig


def build_atari(game: Game, config: EnvConfig) -> Env:
    """The bare game: every frame 210x160 RGB, raw rewards, an end only at game over.

    No frame skip and no time limit inside (the protocol brings both), no sticky actions unless set, the
    minimal action set unless set otherwise. Losing a life ends nothing; no button is pressed for the agent.
    """
    ale_py = import_extra("ale_py", extra="atari")
    # The emulator greets on the first ROM it loads unless told before.
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
