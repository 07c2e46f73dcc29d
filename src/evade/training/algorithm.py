"""Algorithm 1 of the paper."""

from evade.training.phases import (
    collect_real_experience,
    draw_from_posterior,
    evaluate_policy,
    fit_world_model,
    improve_policy_in_dreams,
    score_policy,
)
from evade.training.run import Run
from evade.training.state import TrainState


def train(run: Run) -> TrainState:
    """EVaDE-SimPLe (Algorithm 1). Continues from wherever the run folder says we are.

    `run` is what does not change: settings, folder, display. `state` is what is saved. Each phase returns at once if it
    is done already, and continues where it was interrupted; on success it saves and moves on.
    """
    state = run.restore_or_start()

    for _ in state.remaining_iterations(run.config.schedule.iterations):
        collect_real_experience(run, state)  # act in the game, extend D
        fit_world_model(run, state)  # maximum likelihood, the noisy layers live
        draw_from_posterior(run, state)  # one draw, held until the next one
        improve_policy_in_dreams(run, state)  # PPO inside the held draw
        evaluate_policy(run, state)  # not in the paper's box; never touches D

    collect_real_experience(run, state)  # the last policy acts too: the paper's 102,400 steps
    score_policy(run, state)
    return state
