"""How long a dream step takes by torch's layers and by the compiled loops that replace them.

    python tests/time_dreams.py [GAME...] [--modules ages,object_choice]

512 dreams from observations of random play of each MinAtar game, of models fitted with 100 updates; one thread,
processor time, medians of 21, both ways in turn, three rounds. `--modules` names those whose loops are compared; the
others use their loops both ways.
"""

import argparse
from contextlib import ExitStack
from unittest.mock import patch

import torch

from evade.config.presets import build_config
from evade.dreams.env import DreamEnv
from evade.envs import spec
from evade.layers import draw
from evade.runtime.compilation import Compiler
from evade.runtime.process import prepare_process
from evade.seeding import build_generator
from evade.training.withheld import play_at_random
from evade.world_models.build import build_world_model
from time_policy import GAMES, ROUNDS, measure

NUM_DREAMS, NUM_UPDATES = 512, 100
MODULES = "cell_convolutions", "cell_embeddings", "ages", "object_choice"


def build_dream(config, game, replay, way, modules):
    """One step of dreams of a fitted model, with random actions."""
    torch.manual_seed(0)
    model = build_world_model(config.world_model, game, num_frames=config.env.num_frames)
    optimiser = torch.optim.Adam(model.parameters(), 1e-3)
    for update in range(NUM_UPDATES):
        optimiser.zero_grad()
        batch = replay.transitions(64, build_generator(torch.device("cpu"), 0, "fit", update))
        model.compute_loss(batch).total.backward()
        optimiser.step()
    draw(model.eval(), torch.Generator().manual_seed(0))
    starts = replay.transitions(2 * NUM_DREAMS, build_generator(torch.device("cpu"), 0, "time", 0)).observation
    dream = DreamEnv(model, NUM_DREAMS, lambda count: starts[:count], compiler=Compiler(config.machine.compile == "on"))
    dream.reset()

    @torch.no_grad()
    def step():
        # In every call: torch.compile looks again.
        with ExitStack() as patches:
            for module in modules:
                patches.enter_context(patch(f"evade.world_models.{module}._has_loop", way))
            dream.step(torch.randint(game.num_actions, (NUM_DREAMS,)))

    step()  # compiles
    return step


def by_layers():
    return False


def by_loops():
    return True


def compare(name, variant, modules):
    """The times of layers and loops in each round."""
    config = build_config("minatar", variant, f"minatar/{name}")
    game = spec(config.game, config.env)
    replay = play_at_random(config, game, 3200, seed=0)
    ways = [build_dream(config, game, replay, way, modules) for way in (by_layers, by_loops)]
    return [measure(*ways) for _ in range(ROUNDS)]


if __name__ == "__main__":
    torch.set_num_threads(1)
    prepare_process()
    parser = argparse.ArgumentParser()
    parser.add_argument("games", nargs="*", default=GAMES)
    parser.add_argument("--modules", default=",".join(MODULES))
    options = parser.parse_args()
    for game in options.games:
        for variant in ("simple", "evade"):
            listed = ", ".join(
                f"{layers:.0f} and {loops:.0f}" for layers, loops in compare(game, variant, options.modules.split(","))
            )
            print(f"{game}, {variant}: layers and loops {listed} ms")  # noqa: T201
