"""A world model, a policy and a learner that are none of the package's own, for a game of five cells in a row.

They enter by the registries alone. The model is a table of counts: it is fitted without gradients, samples its frames,
and carries memory from step to step.
"""

from dataclasses import dataclass

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from torch import nn

from evade.config import CollectConfig, EvaluationConfig, MachineConfig, RunConfig, ScheduleConfig
from evade.dreams.settings import DreamConfig
from evade.envs.settings import EnvConfig
from evade.policies.build import register_learner, register_policy
from evade.policies.settings import LearnerConfig, PolicyConfig
from evade.records import PolicyOutput, Prediction
from evade.replay.settings import ReplayConfig
from evade.world_models.build import register_world_model
from evade.world_models.settings import WorldModelConfig

NUM_CELLS = 5
SLIP = 0.25
"""Chance that a step to the right stays where it is."""


class Corridor(gymnasium.Env):
    """Five cells in a row. Action 1 goes right and may slip, action 0 goes left; the right end pays 1 and ends it."""

    observation_space = spaces.Box(0, 1, (1, 1, NUM_CELLS), np.uint8)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cell = 0
        return self._frame(), {}

    def step(self, action):
        if action == 0:
            self.cell = max(self.cell - 1, 0)
        elif self.np_random.random() >= SLIP:
            self.cell += 1
        is_over = self.cell == NUM_CELLS - 1
        return self._frame(), float(is_over), is_over, False, {}

    def _frame(self):
        frame = np.zeros((1, 1, NUM_CELLS), np.uint8)
        frame[0, 0, self.cell] = 1
        return frame


if "EvadeCorridor-v0" not in gymnasium.registry:
    gymnasium.register("EvadeCorridor-v0", entry_point=Corridor, max_episode_steps=40)


def cell_of(frame):
    """uint8 `[B, 1, 1, cells]` to int64 `[B]`."""
    return frame.flatten(1).argmax(1)


@dataclass(frozen=True)
class TableConfig(WorldModelConfig, kind="toy-table"):
    """The table's settings."""

    smoothing: float = 0.0
    """Added to every count."""


class TableModel(nn.Module):
    """Counts of what followed each cell and action."""

    def __init__(self, config, game, num_frames):
        super().__init__()
        self.config = config
        self.register_buffer("counts", torch.zeros(NUM_CELLS, game.num_actions, NUM_CELLS))
        self.register_buffer("rewards", torch.zeros(NUM_CELLS, game.num_actions, NUM_CELLS))
        self.register_buffer("ends", torch.zeros(NUM_CELLS, game.num_actions, NUM_CELLS))

    def initial_memory(self, observation):
        return (torch.zeros(len(observation), dtype=torch.long),)

    def sample_noise(self, batch_size, generator):
        return (torch.rand(batch_size, generator=generator),)

    def predict(self, observation, action, memory=(), noise=()):
        (steps,), (chance,) = memory, noise
        here = cell_of(observation[:, -1])
        counts = self.counts[here, action] + self.config.smoothing
        share = counts.cumsum(1) / counts.sum(1, keepdim=True).clamp_min(1e-9)
        there = (chance.unsqueeze(1) > share).sum(1).clamp_max(NUM_CELLS - 1)
        seen = self.counts[here, action, there].clamp_min(1)
        frame = nn.functional.one_hot(there, NUM_CELLS).to(torch.uint8).view(-1, 1, 1, NUM_CELLS)
        reward = self.rewards[here, action, there] / seen
        return Prediction(frame, reward, self.ends[here, action, there] / seen > 0.5, (steps + 1,))

    def expected_reward(self, observation, action, memory=(), noise=()):
        here = cell_of(observation[:, -1])
        return self.rewards[here, action].sum(1) / self.counts[here, action].sum(1).clamp_min(1)

    def feature_maps(self, observation, action):
        return {}

    def observe_dreamt(self, batch):
        pass

    def observe(self, batch):
        self.observed = getattr(self, "observed", 0) + len(batch.action)

    def use_statistics(self, statistics):
        self.one_object = statistics.one_object


class Stateless:
    """What is saved of something without a state of its own."""

    def saved_tensors(self):
        return {}

    def saved_values(self):
        return None

    def restore(self, tensors, values):
        pass


class TableFitter(Stateless):
    """Counts."""

    def __init__(self, config, model):
        self.model = model

    def update(self, batch):
        places = cell_of(batch.observation[:, -1]), batch.action, cell_of(batch.next_frame)
        for table, values in (
            (self.model.counts, torch.ones(len(batch.action))),
            (self.model.rewards, batch.reward.float()),
            (self.model.ends, batch.terminated.float()),
        ):
            table.index_put_(places, values, accumulate=True)
        return {"counted": self.model.counts.sum()}


@dataclass(frozen=True)
class PreferencesConfig(PolicyConfig, kind="toy-preferences"):
    """The policy's settings."""


class Preferences(nn.Module):
    """A logit for each cell and action."""

    num_frames = 1

    def __init__(self, config, game, num_frames):
        super().__init__()
        self.register_buffer("logits", torch.zeros(NUM_CELLS, game.num_actions))

    def forward(self, observation):
        logits = self.logits[cell_of(observation[:, -1])]
        return PolicyOutput(logits, torch.zeros(len(logits)))


@dataclass(frozen=True)
class CreditConfig(LearnerConfig, kind="toy-credit"):
    """The learner's settings."""

    rate: float = 0.05
    """How far a logit moves for a unit of return."""


class CreditLearner(Stateless):
    """Prefers the actions that were followed by reward."""

    def __init__(self, config, policy):
        self.config, self.policy = config, policy

    def improve(self, rollout, generator):
        credit = rollout.reward.flip(0).cumsum(0).flip(0) * self.config.rate / rollout.action.shape[1]
        here = cell_of(rollout.observation[:, :, -1].flatten(0, 1))
        self.policy.logits.index_put_((here, rollout.action.flatten()), credit.flatten(), accumulate=True)
        return {"credit": credit.mean()}


register_world_model(TableConfig, TableModel, TableFitter)
register_policy(PreferencesConfig, Preferences)
register_learner(CreditConfig, CreditLearner)


def toy_config(**changes):
    """A run of one iteration."""
    settings = {
        "preset": "toy",
        "variant": "toy",
        "game": "EvadeCorridor-v0",
        "schedule": ScheduleConfig(
            iterations=1, first_real_steps=400, real_steps=80, first_fit_updates=50, fit_updates=10, dream_batches=20
        ),
        "env": EnvConfig(num_frames=2),
        "replay": ReplayConfig(batch_size=16, holdout=0.0, pads_starts=True),
        "world_model": TableConfig(),
        "policy": PreferencesConfig(),
        "learner": CreditConfig(),
        "collect": CollectConfig(num_envs=4, num_slices=2),
        "dream": DreamConfig(num_envs=8, horizon=12, starts_from="all", first_starts_at_reset=False),
        "evaluation": EvaluationConfig(episodes=4, final_episodes=20, num_envs=4),
        "machine": MachineConfig(threads=1, compile="off"),
    }
    return RunConfig(**settings | changes)
