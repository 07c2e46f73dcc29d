import pytest

from evade.cli.main import main
from evade.errors import RunError
from evade.evidence.results import build_comparison_tables, compare_runs, read_runs, read_scores, write_scores
from evade.evidence.stats.tables import render_tables
from run_folders import make_finished, make_run

PRESET = {"preset": "minatar"}


@pytest.fixture
def runs_dir(tmp_path):
    for variant, gain in (("simple", 0.0), ("evade", 1.0)):
        for game in ("minatar/breakout", "minatar/freeway"):
            for seed in range(2):
                make_finished(tmp_path / "runs", variant, game, seed, 2.0 + seed + gain, 0.1 * seed, 1 / 3, **PRESET)
    make_run(tmp_path / "runs" / "half", status="running")
    return tmp_path / "runs"


def tables(runs):
    return render_tables(build_comparison_tables(compare_runs(runs, "simple"), num_resamples=50), "json")


def test_every_table_can_be_recomputed_from_the_file(runs_dir, tmp_path, capsys):
    runs = [run for run in read_runs([runs_dir]) if run.is_finished]
    assert write_scores(read_runs([runs_dir]), tmp_path / "scores.csv") == len(runs) == 8
    again = read_scores(tmp_path / "scores.csv")
    assert {(run.fingerprint, run.final_episodes) for run in again} == {
        (run.fingerprint, run.final_episodes) for run in runs
    }
    assert tables(again) == tables(runs)
    outs = []
    for path in (tmp_path / "scores.csv", runs_dir):
        assert main(["compare", str(path), "--resamples", "50", "--format", "json", "--baseline", "simple"]) == 0
        outs.append(capsys.readouterr().out)
    assert "half" in outs[1]  # the folder's unfinished run is noted
    assert outs[0].splitlines()[:40] == outs[1].splitlines()[:40]


def test_runs_with_changed_settings_are_groups_of_their_own(tmp_path):
    for sigma in (0.1, 0.3, 0.5):
        for seed in (1, 2):
            settings = {"world_model": {"reward": {"sigma_init": sigma}}, **PRESET}
            make_finished(tmp_path / f"{sigma}", "evade", "minatar/breakout", seed, sigma + seed, **settings)
            config = tmp_path / f"{sigma}" / "minatar-breakout" / "evade" / f"seed-{seed}" / "config.json"
            config.write_text(config.read_text().replace('"evade-minatar', f'"{sigma}-minatar'))
    runs = read_runs([tmp_path])
    write_scores(runs, tmp_path / "scores.csv")
    for found in (runs, read_scores(tmp_path / "scores.csv")):
        (suite,) = compare_runs(found).suites
        labels = [f"evade (sigma_init={sigma})" for sigma in (0.1, 0.3, 0.5)]
        assert list(suite.raw) == labels
        assert [len(suite.raw[label]["Breakout"]) for label in labels] == [2, 2, 2]


def test_the_same_run_from_file_and_folder_is_refused(runs_dir, tmp_path):
    write_scores(read_runs([runs_dir]), tmp_path / "scores.csv")
    with pytest.raises(RunError, match="are the same run"):
        compare_runs(read_runs([runs_dir, tmp_path / "scores.csv"]))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda text: text.replace("seed,", "sead,", 1), "has no column seed"),
        (lambda text: text[:-4] + "\n", "line 9 of .* is not a run's"),
        (lambda text: text.replace('"{', '"', 1), "line 2 of .* is not a run's"),
        (lambda text: "", "is not a file of scores"),
    ],
)
def test_a_damaged_file_is_named(runs_dir, tmp_path, damage, message):
    path = tmp_path / "scores.csv"
    write_scores(read_runs([runs_dir]), path)
    path.write_text(damage(path.read_text()))
    with pytest.raises(RunError, match=message):
        read_runs([path])
    with pytest.raises(RunError, match="none.csv cannot be read"):
        read_runs([tmp_path / "none.csv"])
