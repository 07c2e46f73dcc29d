"""A run of one iteration, trained for moments: real networks, experience and a draw, without the end of a run."""

from dataclasses import replace

import torch

from evade.config.presets import build_config
from evade.runs.folder import RunFolder
from evade.training.phases import collect_real_experience, draw_from_posterior, fit_world_model
from evade.training.run import Run


def never_end(model):
    """Make a model's dreams endless."""
    with torch.no_grad():
        model.local_heads.end.bias.fill_(-1e4)
        model.local_heads.no_object[-1] = -1e4


def make_small_run(path, variant="evade", *, prior_scale=0.0, game="minatar/breakout", sticky=0.0, chance=False):
    """The folder of a run that has collected, fitted and drawn once; without `chance` its dreams are deterministic."""
    config = build_config("smoke", variant, game)
    world_model = config.world_model.with_prior_scale(prior_scale)
    if not chance:
        world_model = replace(world_model, surprises=False, flips=False, one_place=False)
    dream = replace(config.dream, sticky_probability=sticky)
    config = replace(config, world_model=world_model, dream=dream)
    with Run(config, RunFolder(path)) as run:
        state = run.restore_or_start()
        for each_phase in (collect_real_experience, fit_world_model, draw_from_posterior):
            each_phase(run, state)
        run.save(state)
    return path
