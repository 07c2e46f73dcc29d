"""Which draw the last iteration's dreams have."""

from dataclasses import replace

import pytest

from evade.config.presets import build_config
from evade.layers import mean_draw
from evade.runs.folder import RunFolder
from evade.training.algorithm import train
from evade.training.load import load_run
from evade.training.phases import draw_from_posterior
from evade.training.run import Run


@pytest.mark.parametrize("ends_with_mean", [False, True])
def test_only_a_run_that_is_to_end_with_the_mean_does(tmp_path, ends_with_mean):
    config = build_config("smoke", "evade")
    config = replace(config, schedule=replace(config.schedule, ends_with_mean=ends_with_mean))
    with Run(config, RunFolder(tmp_path)) as run:
        state = train(run)
        assert (state.draw.value == mean_draw(state.world_model)) == ends_with_mean
        loaded = load_run(tmp_path)
        assert loaded.draw == state.draw.value
        # The iteration before, or the last one of a run that has become longer, has a draw.
        state.position.iteration, state.position.phase, state.position.progress = 1, "draw", 0
        draw_from_posterior(run, state)
        assert state.draw.value != mean_draw(state.world_model)
