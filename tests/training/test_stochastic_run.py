"""A run of the stochastic grid model from its start to its pictures."""

import json
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.image import imread

from evade.benchmark.cost import measure_cost
from evade.cli.main import main
from evade.config import from_document, to_document
from evade.config.presets import GRID_STOCHASTIC_MODEL, build_config
from evade.envs import spec
from evade.runs.folder import RunFolder
from evade.training.algorithm import train
from evade.training.load import load_run
from evade.training.run import Run
from evade.viewing.futures import render_futures


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    config = build_config("smoke", "evade", "minatar/asterix")
    world_model = replace(GRID_STOCHASTIC_MODEL, hidden_size=8).with_event_layers(("weighting",))
    config = replace(config, world_model=world_model)
    assert from_document(to_document(config)) == config
    folder = RunFolder(tmp_path_factory.mktemp("stochastic"))
    with Run(config, folder) as run:
        state = train(run)
    assert state.world_model.num_updates == 12 + 8
    return folder


def test_every_iteration_compares_dreams_with_the_game(folder):
    rows = [json.loads(line) for line in folder.metrics.read_text().splitlines()]
    found = {name: value for row in rows for name, value in row["values"].items()}
    names = ["value_claim", "value_return"]
    names += [f"{where}_reward{part}" for where in ("game", "dream") for part in ("", "/1", "/5")]
    events = ("appear", "vanish", "multiply")
    names += [f"{where}_{event}{part}" for where in ("game", "dream") for event in events for part in ("", "/0", "/3")]
    assert {f"faithfulness/{name}" for name in names} <= found.keys()
    assert found["faithfulness/game_vanish/0"] == 0, "the player never vanishes from the game"
    assert "fit/bit_loss" in found


def test_its_cost_counts_every_step_of_the_sequences_it_is_fitted_to():
    config = build_config("smoke", "simple", "minatar/asterix")
    world_model = replace(GRID_STOCHASTIC_MODEL, hidden_size=8)
    game = spec(config.game, config.env)
    one, three = (
        measure_cost(
            replace(config, world_model=world_model, replay=replace(config.replay, target_frames=count)),
            game,
            repeats=1,
        )
        for count in (1, 3)
    )
    assert three.fit_update.flops == pytest.approx(3 * one.fit_update.flops, rel=0.05)
    assert one.dream_step.flops == three.dream_step.flops > 0


def test_futures_begin_alike_and_the_command_writes_them(folder, tmp_path, capsys):
    run = load_run(folder.path)
    picture = render_futures(run, num_futures=3, num_steps=4, scale=2)
    size = 10 * 2 + 2
    assert picture.shape == (4 * size, 5 * size, 3)
    starts = picture[:, :size].reshape(4, size, size, 3)
    assert (starts == starts[0]).all()
    target = tmp_path / "new" / "picture.png"
    assert main(["futures", str(folder.path), "--to", str(target), "--count", "3", "--steps", "4"]) == 0
    assert "3 dreams of the same actions" in capsys.readouterr().out
    assert np.allclose(imread(target)[::8, ::8, :3] * 255, render_futures(run, num_futures=3, num_steps=4)[::8, ::8])
