"""How a finished run's dreams differ from its game under different ways of sampling frames.

    python tests/measure_chance.py RUN...

The newest collection of each run (to which its world model has not been fitted), three times 512 starts, 20 steps of
the run's policy in dreams beside the game: reward per step, and how often objects appear, vanish and multiply, the mean
over channels. Then the transitions with a reward: how many frames are dreamed exactly.
"""

import sys
from dataclasses import replace

import torch

from evade.dreams.chance import measure_chance
from evade.dreams.env import DreamEnv
from evade.layers import hold
from evade.policies.rollout import roll_out
from evade.training.load import load_run

STEPS, STARTS, REPEATS = 20, 512, 3
EVENTS = ("reward", "appear", "vanish", "multiply")
WAYS = ("most likely frames", "surprises", "surprises and flips", "one place for each object", "... and rates")


def use(model, way):
    """Let a model of preset `minatar` sample in one of these ways; returns what undoes it."""
    config, surprises, excess = model.config, model.surprises, model.change_excess
    number = WAYS.index(way)
    model.config = replace(config, flips=number >= 2, one_place=number >= 3)
    model.surprises = surprises if number >= 1 else None
    model.change_excess = None if number < 3 else torch.zeros_like(excess) if number == 3 else excess

    def undo():
        model.config, model.surprises, model.change_excess = config, surprises, excess

    return undo


def measure_dreams(run, replay):
    """The means of the game, and of dreams beside it."""
    found = []
    for number in range(REPEATS):
        generator = torch.Generator().manual_seed(number)
        segments = replay.segments(STARTS, STEPS, generator, newest=True)
        starts = segments.observation.repeat(2, 1, 1, 1, 1)
        env = DreamEnv(run.world_model, STARTS, lambda count, starts=starts: starts[:count], generator=generator)
        rollout = roll_out(run.policy, env, STEPS, generator)
        measured = measure_chance(run.policy, segments, rollout, 0.99, has_objects=True)
        found.append([[measured[f"{where}_{event}"] for event in EVENTS] for where in ("game", "dream")])
    return torch.tensor(found).mean(0).tolist()


def measure_rewarded(run, replay):
    """The share of exact frames among rewarded transitions of the newest collection."""
    batches = [batch for batch in replay.newest_transitions(256) if (batch.reward > 0).any()]
    exact = []
    for batch in batches:
        paid = [field[batch.reward > 0] for field in batch]
        noise = run.world_model.sample_noise(len(paid[0]), torch.Generator().manual_seed(0))
        frame = run.world_model.predict(paid[0], paid[1], (), noise).frame
        exact.append((frame == paid[2]).flatten(1).all(1))
    return torch.cat(exact).double().mean().item()


def report(path):
    """Print a table of one run."""
    run = load_run(path)
    replay = run.read_replay()
    hold(run.world_model.eval(), run.draw)
    lines = []
    for way in WAYS:
        undo = use(run.world_model, way)
        game, dream = measure_dreams(run, replay)
        lines.append((way, [*dream, measure_rewarded(run, replay)]))
        undo()
    for name, numbers in [("game", [*game, 1.0]), *lines]:
        print(f"{name:28}" + " ".join(f"{number:9.4f}" for number in numbers))  # noqa: T201


if __name__ == "__main__":
    torch.set_num_threads(1)
    for path in sys.argv[1:]:
        heading = " ".join(f"{name:>9}" for name in (*EVENTS, "exact"))
        print(f"{path}\n{'':28}{heading}")  # noqa: T201
        report(path)
