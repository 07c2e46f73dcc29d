import json
import math

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from evade.errors import JournalDamaged, MetricsError
from evade.runs.tensorboard import TensorBoardMirror, mirror


def record(step, phase="fit", iteration=1, group=None, **values):
    named = {f"{group or phase}/{name}": value for name, value in values.items()}
    return {"iteration": iteration, "phase": phase, "step": step, "values": named}


def write_metrics(path, records):
    path.write_text("".join(json.dumps(each) + "\n" for each in records))
    return path


def read_points(directory):
    """All points of a folder as TensorBoard's own reader sees them: tag -> [(step, value)]."""
    reader = EventAccumulator(str(directory), size_guidance={"scalars": 0})
    reader.Reload()
    return {tag: [(point.step, point.value) for point in reader.Scalars(tag)] for tag in reader.Tags()["scalars"]}


RECORDS = [
    record(6400, "collect", steps=6400),
    record(50, loss=2.0, reward_accuracy=0.5),
    record(100, loss=1.0, reward_accuracy=0.75),
    record(16, "evaluate", score=3),
]
POINTS = {
    "collect/steps": [(6400, 6400.0)],
    "fit/loss": [(50, 2.0), (100, 1.0)],
    "fit/reward_accuracy": [(50, 0.5), (100, 0.75)],
    "evaluate/score": [(6400, 3.0)],
}


def test_every_point_lies_at_its_real_steps_updates_or_dream_batches(tmp_path):
    records = [
        record(128, "collect", steps=128),
        record(6, "fit", loss=2.0),
        record(12, "fit", loss=1.0),
        record(1, "draw", group="posterior", sigma=0.5),
        record(4, "improve", group="dream", **{"return": 1.0}),
        record(4, "improve", group="posterior", disagreement=0.1),
        record(2, "evaluate", score=3.0),
        record(64, "collect", 2, steps=192),
        record(64, "collect", 2, group="faithfulness", divergence_step=2.0),
        record(8, "fit", 2, loss=0.5),
        record(8, "fit", 2, exact_frames=0.9),
        record(2, "improve", 2, group="dream", **{"return": 2.0}),
        record(4, "improve", 2, group="dream", **{"return": 3.0}),
        record(2, "evaluate", 2, score=4.0),
        record(64, "collect", 3, steps=256),
        record(3, "score", 3, score=5.0),
    ]
    mirror(write_metrics(tmp_path / "metrics.jsonl", records), tmp_path / "tensorboard").close()
    places = {tag: [step for step, _ in points] for tag, points in read_points(tmp_path / "tensorboard").items()}
    assert places == {
        "collect/steps": [128, 192, 256],
        "fit/loss": [6, 12, 20],
        "fit/exact_frames": [20],
        "posterior/sigma": [128],
        "posterior/disagreement": [128],
        "dream/return": [4, 6, 8],
        "faithfulness/divergence_step": [192],
        "evaluate/score": [128, 192],
        "score/score": [256],
    }


def test_the_mirror_shows_what_the_metrics_say(tmp_path):
    mirror(write_metrics(tmp_path / "metrics.jsonl", RECORDS), tmp_path / "tensorboard").close()
    assert read_points(tmp_path / "tensorboard") == POINTS


def test_every_record_is_there_as_soon_as_it_is_added(tmp_path):
    with TensorBoardMirror(tmp_path) as writer:
        for each in RECORDS:
            writer.add(each)
        assert read_points(tmp_path) == POINTS


def test_a_resumed_run_shows_no_point_twice_and_none_that_was_taken_back(tmp_path):
    events = tmp_path / "tensorboard"
    with TensorBoardMirror(events) as writer:
        for each in [*RECORDS, record(200, loss=0.5)]:
            writer.add(each)
    (events / "mine.txt").write_text("not an event file")
    # The crash came after step 200, the last checkpoint before it.
    with mirror(write_metrics(tmp_path / "metrics.jsonl", RECORDS), events) as writer:
        writer.add(record(200, loss=0.25))
        writer.add(record(10, iteration=2, loss=0.125))
    assert read_points(events) == POINTS | {"fit/loss": [(50, 2.0), (100, 1.0), (200, 0.25), (210, 0.125)]}
    assert (events / "mine.txt").exists()


def test_mirroring_twice_changes_nothing(tmp_path):
    metrics = write_metrics(tmp_path / "metrics.jsonl", RECORDS)
    mirror(metrics, tmp_path / "tensorboard").close()
    mirror(metrics, tmp_path / "tensorboard").close()
    assert read_points(tmp_path / "tensorboard") == POINTS
    assert len(list((tmp_path / "tensorboard").iterdir())) == 1


def test_a_run_without_metrics_has_no_points(tmp_path):
    mirror(tmp_path / "metrics.jsonl", tmp_path / "tensorboard").close()
    assert read_points(tmp_path / "tensorboard") == {}


def test_numbers_that_are_not_finite_are_shown_as_such(tmp_path):
    with TensorBoardMirror(tmp_path) as writer:
        writer.add(record(1, loss=math.nan, norm=math.inf))
    points = read_points(tmp_path)
    assert math.isnan(points["fit/loss"][0][1])
    assert points["fit/norm"] == [(1, math.inf)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"iteration": 1, "phase": "fi', "line 2 of .*metrics.jsonl is damaged .*restore the file"),
        ("[1]", r"line 2 of .*metrics.jsonl is \[1\], not a record"),
        ('{"iteration": 1, "phase": "fit", "step": 1}', 'needs "iteration", "phase", "step" and "values"'),
        ('{"iteration": 1, "phase": "fit", "step": 1, "values": {"loss": "high"}}', "values.* of numbers"),
        ('{"phase": "fit", "step": 1, "values": {}}', "is not a record"),
    ],
)
def test_a_line_that_is_no_record_is_named_and_the_old_events_stay(tmp_path, line, message):
    metrics = write_metrics(tmp_path / "metrics.jsonl", RECORDS)
    mirror(metrics, tmp_path / "tensorboard").close()
    metrics.write_text(f"{json.dumps(RECORDS[0])}\n{line}\n")
    with pytest.raises((MetricsError, JournalDamaged), match=message):
        mirror(metrics, tmp_path / "tensorboard")
    assert read_points(tmp_path / "tensorboard") == POINTS


def test_adding_what_is_no_record_is_refused(tmp_path):
    with TensorBoardMirror(tmp_path) as writer, pytest.raises(MetricsError, match="this record is not a record"):
        writer.add({"phase": "fit", "loss": 1.0})
