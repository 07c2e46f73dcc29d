"""How long PPO and acting take with a dense first convolution and with a loop over objects.

    python tests/time_policy.py

One update of PPO on 1024 real observations of random play of each MinAtar game, and one `act` on 512 of them; one
thread, processor time, medians of 21, both ways in turn, three rounds.
"""

import time
from functools import partial

import torch

from evade.config.presets import build_config
from evade.envs import spec
from evade.policies.acting import act
from evade.policies.build import build_learner, build_policy
from evade.policies.ppo import Minibatch, ppo_update
from evade.runtime.process import prepare_process
from evade.seeding import build_generator
from evade.training.withheld import play_at_random

GAMES = ("asterix", "breakout", "freeway", "seaquest", "space_invaders")
ROUNDS, REPEATS, NUM_DREAMS = 3, 21, 512


def measure(*ways):
    """The medians of some repeats of each way, in milliseconds; all ways in turn, because other programs run too."""
    taken = [[] for _ in ways]
    for _ in range(REPEATS):
        for way, times in zip(ways, taken, strict=True):
            begin = time.process_time()
            way()
            times.append(1e3 * (time.process_time() - begin))
    return [sorted(times)[REPEATS // 2] for times in taken]


def build_ways(config, game, observation, has_loop):
    """One update of PPO, and one `act`, of a new policy."""
    torch.manual_seed(0)
    policy = build_policy(config.policy, game, config.env.num_frames)
    policy._has_loop = policy._has_loop and has_loop
    learner = build_learner(config.learner, policy)
    shape = (config.learner.minibatch_times, NUM_DREAMS)
    minibatch = Minibatch(
        observation.view(*shape, *observation.shape[1:]),
        torch.randint(game.num_actions, shape),
        -torch.rand(shape),
        torch.randn(shape),
        torch.randn(shape),
    )
    generator = torch.Generator().manual_seed(0)
    return (
        partial(ppo_update, policy, learner.optimiser, minibatch, config.learner),
        partial(torch.no_grad()(act), policy, observation[:NUM_DREAMS], 1.0, generator),
    )


def compare(name):
    """Objects a frame, and for each round the times of both updates and of both `act`."""
    config = build_config("minatar", "simple", f"minatar/{name}")
    game = spec(config.game, config.env)
    num_steps = config.learner.minibatch_times * NUM_DREAMS
    replay = play_at_random(config, game, 4 * num_steps, seed=0)
    batch = replay.transitions(num_steps, build_generator(torch.device("cpu"), 0, "time", 0))
    observation = batch.observation[:, -config.policy.num_frames :].contiguous()
    dense, loop = (build_ways(config, game, observation, has_loop) for has_loop in (False, True))
    objects = float(observation.sum()) / num_steps
    return objects, [(*measure(dense[0], loop[0]), *measure(dense[1], loop[1])) for _ in range(ROUNDS)]


if __name__ == "__main__":
    torch.set_num_threads(1)
    prepare_process()
    for game in GAMES:
        objects, rounds = compare(game)
        updates = ", ".join(f"{dense:.1f} and {loop:.1f}" for dense, loop, _, _ in rounds)
        acts = ", ".join(f"{dense:.2f} and {loop:.2f}" for _, _, dense, loop in rounds)
        print(f"{game}, {objects:.0f} objects a frame: dense and loop, update {updates} ms, act {acts} ms")  # noqa: T201
