"""One dream as a Gymnasium environment: what `run.dream()` and `gymnasium.make("evade/Dream-v0")` return."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from evade.checks import require
from evade.envs.single import Observation, StackedEnv
from evade.errors import ActionError
from evade.game_spec import GameSpec
from evade.interfaces import WorldModel
from evade.records import Memory


class SingleDream(StackedEnv):
    """One dream with the spaces of its game: uint8 `[K, C, H, W]`, discrete actions, predicted rewards.

    It makes the same predictions as a `DreamEnv` of one dream. Unlike that one it does not begin again by itself, so
    the last observation of a dream that ends is the predicted one; and it is truncated after `horizon` steps.

    Args:
        model: in evaluation mode, with one draw held or the mean in use; nobody else may change that meanwhile.
        game: of the model.
        num_frames: K.
        starts: from a generator on the CPU to a start observation, uint8 `[1, K, C, H, W]`; called at each reset.
        horizon: steps after which a dream is truncated.
        sticky_probability: probability of repeating the previous action.
        device: of the model.
        render_mode: `"rgb_array"` to enable `render`.
    """

    def __init__(
        self,
        model: WorldModel,
        game: GameSpec,
        num_frames: int,
        starts: Callable[[torch.Generator], Tensor],
        *,
        horizon: int,
        sticky_probability: float = 0.0,
        device: torch.device,
        render_mode: Literal["rgb_array"] | None = None,
    ) -> None:
        require(horizon >= 1, "horizon", horizon, "must be at least 1")
        super().__init__(game, num_frames, render_mode)
        self._model, self._starts, self._horizon = model, starts, horizon
        self._sticky_probability, self._device = sticky_probability, device
        self._host, self._generator = torch.Generator(), torch.Generator(device)
        self._host.seed()
        self._generator.seed()
        self._previous_action: int | None = None
        self._memory: Memory = ()
        self._num_steps = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin a dream; a seed determines everything that follows. There are no options."""
        super().reset(seed=seed, options=options)
        if seed is not None:
            self._host.manual_seed(seed)
            self._generator.manual_seed(seed)
        start = self._starts(self._host)
        self._observation = start[0].cpu().numpy().copy()
        self._memory = self._model.initial_memory(start.to(self._device))
        self._previous_action, self._num_steps = None, 0
        return self._observation.copy(), {}

    @torch.no_grad()
    def step(self, action: np.int64 | int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Predict the next frame, reward and end."""
        stack = self._current()
        if not 0 <= action < self.game.num_actions:
            raise ActionError(f"Invalid action {action}: must be 0 to {self.game.num_actions - 1} in this game.")
        chosen = self._apply_stickiness(int(action))
        frame, reward, terminated, self._memory = self._model.predict(
            torch.from_numpy(stack).unsqueeze(0).to(self._device),
            torch.tensor([chosen], device=self._device),
            self._memory,
            self._model.sample_noise(1, self._generator),
        )
        self._observation = np.concatenate([stack[1:], frame.cpu().numpy()])
        self._num_steps += 1
        is_over = bool(terminated.item())
        is_cut = self._num_steps >= self._horizon and not is_over
        return self._observation.copy(), float(reward.item()), is_over, is_cut, {}

    def _apply_stickiness(self, action: int) -> int:
        """The action that takes effect; random numbers are used in the order of `DreamEnv`."""
        if self._sticky_probability > 0:
            if self._previous_action is not None:
                sample = torch.rand((1,), generator=self._generator, device=self._device).item()
                action = self._previous_action if sample < self._sticky_probability else action
            self._previous_action = action
        return action
