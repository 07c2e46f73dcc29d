"""How long the event prior takes as convolutions and as a loop over objects.

    python tests/time_event_sums.py

512 real steps of random play of each MinAtar game, one thread; processor time, medians of ten, both in turn, three
rounds.
"""

import time
from functools import partial

import torch

from evade.config.presets import build_config
from evade.envs import spec
from evade.layers import draw
from evade.seeding import build_generator
from evade.training.withheld import play_at_random
from evade.vocabulary.variants import EVADE
from evade.world_models.event_prior import EventPrior, sum_densely
from evade.world_models.event_sums import sum_events

GAMES = ("asterix", "breakout", "freeway", "seaquest", "space_invaders")
ROUNDS, REPEATS, NUM_STEPS = 3, 10, 512


def measure(work):
    """The median of some repeats, in milliseconds."""
    taken = []
    for _ in range(REPEATS):
        begin = time.process_time()
        work()
        taken.append(1e3 * (time.process_time() - begin))
    return sorted(taken)[REPEATS // 2]


def compare(name):
    """Objects a frame, and the times of convolutions and loop in each round."""
    config = build_config("minatar", "evade", f"minatar/{name}")
    game = spec(config.game, config.env)
    replay = play_at_random(config, game, 4 * NUM_STEPS, seed=0)
    batch = replay.transitions(NUM_STEPS, build_generator(torch.device("cpu"), 0, "time", 0))
    size = (game.height, game.width)
    prior = EventPrior(
        EVADE, channels=game.channels, frame_size=size, num_actions=game.num_actions, scale=1.0, patience=1.0
    )
    draw(prior, torch.Generator().manual_seed(0))
    weights = prior._split(prior.held_kernel)
    step = batch.observation[:, -1], batch.action, batch.next_frame
    ways = partial(sum_densely, *step, weights), partial(sum_events, *step, *weights)
    return float(step[0].float().sum()) / NUM_STEPS, [[measure(way) for way in ways] for _ in range(ROUNDS)]


if __name__ == "__main__":
    torch.set_num_threads(1)
    for game in GAMES:
        objects, rounds = compare(game)
        listed = ", ".join(f"{dense:.1f} and {loop:.1f}" for dense, loop in rounds)
        print(f"{game}, {objects:.0f} objects a frame: convolutions and loop {listed} ms")  # noqa: T201
