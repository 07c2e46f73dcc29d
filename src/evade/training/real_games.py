"""The games that a run plays from one collection to the next."""

from evade.config import RunConfig
from evade.envs import make_env
from evade.envs.vector import VectorEnv
from evade.replay.store import Replay
from evade.seeding import derive_seed


class RealGames:
    """Games of which the first `collect.num_kept` go on from one collection to the next; the others begin anew.

    A game is determined by its seed and its actions, so nothing of it is saved: after a restart the recorded actions
    are played again.

    Args:
        config: of the run.
    """

    def __init__(self, config: RunConfig) -> None:
        self._config = config
        self._games: VectorEnv | None = None

    def begin(self, replay: Replay) -> VectorEnv:
        """The games of the next collection, not yet reset.

        Args:
            replay: all earlier collections.
        """
        if self._config.collect.num_kept == 0:
            self.close()
        elif self._games is None:
            for number, actions in enumerate(replay.actions(self._config.collect.num_envs)):
                games = self._prepare(number)
                games.reset()
                for action in actions.numpy():
                    games.step(action)
        return self._prepare(len(replay.records))

    def _prepare(self, number: int) -> VectorEnv:
        """The games of a collection, counted from 0, if those of the one before are held."""
        seed = derive_seed(self._config.seed, "games", number + 1) % 2**31
        if self._games is None:
            self._games = make_env(self._config.game, self._config.collect.num_envs, seed, self._config.env)
        else:
            self._games.keep(self._config.collect.num_kept, seed)
        return self._games

    def close(self) -> None:
        """Free the emulators."""
        if self._games is not None:
            self._games.close()
            self._games = None
