"""What has happened since the start, in the game and in each dream, so that any step can be shown again."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from evade.interfaces import WorldModel
from evade.records import Memory
from evade.seeding import derive_seed
from evade.viewing.look.draws import Posterior
from evade.viewing.look.games import GameStep


class Track:
    """Frames, rewards and the end of one game or dream, step by step.

    Args:
        start: uint8 `[K, C, H, W]`.
        begin: the step at which it starts.
    """

    def __init__(self, start: Tensor, begin: int = 0) -> None:
        self.begin = begin
        self._start = start
        self._frames: list[Tensor] = []
        self._rewards: list[float] = []
        self._over: list[bool] = []

    @property
    def last(self) -> int:
        """The newest step."""
        return self.begin + len(self._frames)

    def observation(self, step: int) -> Tensor:
        """The stacked frames at a step, uint8 `[K, C, H, W]`."""
        taken = self._frames[: step - self.begin]
        num_frames = len(self._start)
        if not taken:
            return self._start
        newest = torch.stack(taken[-num_frames:])
        return torch.cat([self._start[len(newest) :], newest])

    def frame(self, step: int) -> NDArray[np.uint8]:
        """The frame at a step, `[C, H, W]`."""
        frame = self._start[-1] if step == self.begin else self._frames[step - self.begin - 1]
        array: NDArray[np.uint8] = frame.numpy()
        return array

    def reward(self, step: int) -> float:
        """The reward received on arriving at a step; 0 at the start."""
        return self._rewards[step - self.begin - 1] if step > self.begin else 0.0

    def total(self, step: int) -> float:
        """The sum of all rewards up to a step."""
        return sum(self._rewards[: step - self.begin])

    def is_over(self, step: int) -> bool:
        """Whether it had ended by that step."""
        return step > self.begin and self._over[step - self.begin - 1]

    def cut(self, step: int) -> None:
        """Forget all after a step."""
        for values in (self._frames, self._rewards, self._over):
            del values[max(step - self.begin, 0) :]

    def _append(self, frame: Tensor, reward: float, is_over: bool) -> None:
        self._frames.append(frame)
        self._rewards.append(reward)
        self._over.append(is_over)


class GameTrack(Track):
    """The game's."""

    def __init__(self, start: Tensor) -> None:
        super().__init__(start)
        self._raw_rewards: list[float] = []
        self._terminated: list[bool] = []

    def add(self, step: GameStep) -> None:
        """Take note of a step."""
        self._append(torch.from_numpy(step.frame), step.reward, step.terminated or step.truncated)
        self._raw_rewards.append(step.raw_reward)
        self._terminated.append(step.terminated)

    def score(self, step: int) -> float:
        """The sum of the raw rewards up to a step."""
        return sum(self._raw_rewards[:step])

    def has_terminated(self, step: int) -> bool:
        """Whether the game itself, and not a limit, ended it at that step."""
        return step > 0 and self._terminated[step - 1]

    def cut(self, step: int) -> None:
        """Forget all after a step."""
        super().cut(step)
        del self._raw_rewards[step:], self._terminated[step:]


class DreamTrack(Track):
    """A dream's, which also makes its steps.

    Args:
        start: uint8 `[K, C, H, W]`.
        begin: the step at which it starts.
        draw: name of the draw, or of the mean, it is dreamt under.
    """

    def __init__(self, start: Tensor, begin: int, draw: str) -> None:
        super().__init__(start, begin)
        self.draw = draw
        self._memories: list[Memory] = []

    def stay(self) -> None:
        """Add a step to a dream that has ended: it stays as it is."""
        self._append(self._frames[-1], 0.0, True)
        self._memories.append(self._memories[-1])

    def add(self, frame: Tensor, reward: float, terminated: bool, memory: Memory) -> None:
        """Take note of a dreamt step and of the memory after it."""
        self._append(frame, reward, terminated)
        self._memories.append(memory)

    def memory(self, model: WorldModel) -> Memory:
        """The memory after the last step, each tensor `[1, ...]`."""
        return self._memories[-1] if self._memories else model.initial_memory(self.observation(self.last).unsqueeze(0))

    def cut(self, step: int) -> None:
        """Forget all after a step."""
        super().cut(step)
        del self._memories[max(step - self.begin, 0) :]


@torch.no_grad()
def dream_on(dreams: Sequence[DreamTrack], posterior: Posterior, action: int) -> None:
    """Dream one step of all dreams, in one forward because a key press waits for it; those that have ended stay.

    Random numbers of models that sample depend on the step alone, so that two draws get the same ones.
    """
    going: list[DreamTrack] = []
    for dream in dreams:
        if dream.is_over(dream.last):
            dream.stay()
        else:
            going.append(dream)
    if not going:
        return
    model = posterior.model
    observation = torch.stack([dream.observation(dream.last) for dream in going])
    memory = tuple(torch.cat(parts) for parts in zip(*(dream.memory(model) for dream in going), strict=True))
    one = model.sample_noise(1, torch.Generator().manual_seed(derive_seed(0, "look", going[0].last)))
    noise = tuple(numbers.expand(len(going), *numbers.shape[1:]) for numbers in one)
    with posterior.holding([dream.draw for dream in going]):
        found = model.predict(observation, torch.full((len(going),), action), memory, noise)
    for index, dream in enumerate(going):
        own = tuple(part[index : index + 1] for part in found.memory)
        dream.add(found.frame[index], found.reward[index].item(), bool(found.terminated[index].item()), own)


def has_parted(game: GameTrack, dream: DreamTrack, step: int) -> bool:
    """Whether a dream differs from the game at a step, in frame, reward (rounded) or end."""
    terminated = game.has_terminated(step)
    # As in `evade.dreams.faithfulness`, the frame after a game's end is not compared.
    same_frame = terminated or np.array_equal(game.frame(step), dream.frame(step))
    same_reward = round(dream.reward(step)) == round(game.reward(step))
    return not (same_frame and same_reward and dream.is_over(step) == terminated)
