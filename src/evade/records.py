"""The records that parts exchange, and the axis letters used in every docstring.

Axes: `B` batch, `T` time, `N` environments, `K` stacked frames (oldest first), `C` channels of one frame,
`H` rows, `W` columns, `V` values (levels) one cell can take, `A` actions, `R` reward classes.
A frame is uint8 `[C, H, W]`; an observation is uint8 `[K, C, H, W]`.
"""

from typing import NamedTuple

from torch import Tensor


class Transitions(NamedTuple):
    """A batch of single steps of a game: what the world model is fitted to."""

    observation: Tensor
    """uint8 `[B, K, C, H, W]`."""
    action: Tensor
    """int64 `[B]`, taken at the observation."""
    next_frame: Tensor
    """uint8 `[B, C, H, W]`, the frame the action led to."""
    reward: Tensor
    """Whole numbers `[B]`, clipped to the game's range, received on arriving at `next_frame`."""
    terminated: Tensor
    """bool `[B]`, whether the game ended there (a time limit does not count)."""


class Sequences(NamedTuple):
    """A batch of L consecutive frames of one episode each, for models that are fitted to several steps in a row.

    The first K frames are an observation; the steps from its last frame on are predicted.
    """

    frame: Tensor
    """uint8 `[B, L, C, H, W]`."""
    action: Tensor
    """int64 `[B, L - 1]`, taken at each frame but the last; 0 at copies of an episode's first frame."""
    reward: Tensor
    """Whole numbers `[B, L - 1]`, clipped to the game's range, received on arriving at the next frame."""
    terminated: Tensor
    """bool `[B, L - 1]`, whether the game ended there."""


NEVER_SEEN = 1000.0
"""The excess of a reward or an end that never happened: its probability becomes 0 in float32. It is finite, because
checkpoints refuse infinite values."""


class Statistics(NamedTuple):
    """What holds in all real experience so far."""

    one_object: Tensor
    """bool `[C, C]`: row c marks the channels of a grid, c among them, that together showed exactly one object in every
    frame. A row without marks is of a channel in no such group; in pictures all are."""
    reward_excess: Tensor
    """float32 `[R]`: by how much each reward is oversampled in batches, as the log of the ratio of its shares;
    `NEVER_SEEN` for one that never happened."""
    end_excess: Tensor
    """float32 scalar: the same for ends, as the difference of log-odds."""
    change_excess: Tensor
    """float32 `[2, C]`: the same for a channel of a grid that shows more objects than before, and fewer; 0 if it never
    does, or if rare changes are not oversampled."""
    num_transitions: int
    """How many transitions are fitted to."""


class Segments(NamedTuple):
    """T steps of real games from each of B observations on; what comes after a game's end does not count."""

    observation: Tensor
    """uint8 `[B, K, C, H, W]`, where they begin."""
    action: Tensor
    """int64 `[T, B]`."""
    frame: Tensor
    """uint8 `[T, B, C, H, W]`, what each action led to."""
    reward: Tensor
    """float32 `[T, B]`, clipped; 0 after the end."""
    terminated: Tensor
    """bool `[T, B]`, whether the game ended at this step."""
    happened: Tensor
    """bool `[T, B]`, False after the game's end."""


Memory = tuple[Tensor, ...]
"""What a world model carries from one step to the next, each tensor `[B, ...]`; `()` for a model without memory."""

Noise = tuple[Tensor, ...]
"""The random numbers of one step of a world model; `()` for a model that does not sample."""


class Logits(NamedTuple):
    """A world model's unnormalised log-probabilities of the next step."""

    frame: Tensor
    """`[B, H, W, C, V]`: one logit for each value of each channel of each cell."""
    reward: Tensor
    """`[B, R]`."""
    end: Tensor | None
    """`[B]`, the log-odds that the game ends; None for a model without an end head."""


class Prediction(NamedTuple):
    """The next step of a dream."""

    frame: Tensor
    """uint8 `[B, C, H, W]`."""
    reward: Tensor
    """float32 `[B]`, in the game's clipped range; a whole number if it is the most likely one."""
    terminated: Tensor
    """bool `[B]`; all False for a model without an end head."""
    memory: Memory = ()
    """What to give to the next step."""


class Loss(NamedTuple):
    """A loss to minimise, with its metrics."""

    total: Tensor
    """Scalar with a gradient."""
    metrics: dict[str, Tensor]
    """Named scalars without a gradient."""


class PolicyOutput(NamedTuple):
    """What the policy says of a batch of observations."""

    logits: Tensor
    """`[B, A]`: unnormalised log-probabilities of the actions."""
    value: Tensor
    """`[B]`: the expected discounted return."""


class EnvStep(NamedTuple):
    """The result of one step of N games."""

    observation: Tensor
    """uint8 `[N, K, C, H, W]`: what to act on next; of a game that ended, the next game's first."""
    reward: Tensor
    """float32 `[N]`, clipped to the game's range."""
    terminated: Tensor
    """bool `[N]`: the game ended at this step."""
    truncated: Tensor
    """bool `[N]`: a limit cut the game off after this step, though it had not ended."""
    final_observation: Tensor | None
    """uint8 `[N, K, C, H, W]`: what the actions led to, before any new game; None if no game was cut off."""


class Rollout(NamedTuple):
    """Steps gathered to improve a policy, from the game or from a dream."""

    observation: Tensor
    """uint8 `[T, N, K, C, H, W]`."""
    action: Tensor
    """int64 `[T, N]`."""
    log_prob: Tensor
    """float32 `[T, N]`, of the action under the policy that took it."""
    value: Tensor
    """float32 `[T, N]`, the policy's value of the observation."""
    next_value: Tensor
    """float32 `[T, N]`, the policy's value of what the action led to, before any reset."""
    reward: Tensor
    """float32 `[T, N]`."""
    terminated: Tensor
    """bool `[T, N]`: the game ended at this step."""
    truncated: Tensor
    """bool `[T, N]`: the game was cut off after this step, though it had not ended."""
