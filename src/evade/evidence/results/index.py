"""All runs below a folder in one SQLite file, for questions that would otherwise open every folder.

The run folders are the truth. The index is made anew from them inside one transaction each time: whoever reads
meanwhile, or after the building process was killed, finds the previous content. It may be deleted at any time.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from evade.errors import IndexUnusable, RunError
from evade.evidence.results.read import RunResult, read_run
from evade.runs.failpoints import reach
from evade.runs.files import make_folder
from evade.runs.folder import find_runs

APPLICATION_ID = 0x45564144
"""Marks a SQLite file as ours ("EVAD"), so that nobody else's tables are ever replaced."""

SCHEMA = """
DROP TABLE IF EXISTS metrics;
DROP TABLE IF EXISTS scores;
DROP TABLE IF EXISTS runs;
CREATE TABLE runs (
    run TEXT PRIMARY KEY, preset TEXT, variant TEXT, game TEXT, seed INTEGER, fingerprint TEXT, status TEXT,
    preprocessing_version INTEGER, evaluation_version INTEGER, settings TEXT, seconds REAL,
    final_score REAL, num_final_episodes INTEGER
);
CREATE TABLE scores (
    run TEXT REFERENCES runs, purpose TEXT, iteration INTEGER, real_steps INTEGER, episode INTEGER, score REAL,
    length INTEGER
);
CREATE TABLE metrics (run TEXT REFERENCES runs, iteration INTEGER, phase TEXT, step INTEGER, name TEXT, value REAL);
CREATE INDEX scores_by_run ON scores (run, purpose, iteration);
CREATE INDEX metrics_by_name ON metrics (run, name);
"""
"""One row of `runs` for each run folder, of `scores` for each episode, of `metrics` for each logged number."""


class IndexedRun(NamedTuple):
    """One run as the index knows it."""

    run: str
    """Its folder, seen from the folder that was indexed."""
    game: str
    variant: str
    seed: int
    status: str
    final_score: float | None
    """The mean of the final evaluation's episodes; None before the run is finished."""


class MetricPoint(NamedTuple):
    """One logged number."""

    iteration: int
    phase: str
    step: int
    value: float | None


def build_index(runs_dir: Path, database: Path) -> int:
    """Index every run below `runs_dir` and return how many there are; what the index held before is replaced.

    Raises:
        RunError: there are no runs; an index that exists stays as it is.
        IndexUnusable: the file belongs to something else, is damaged, or cannot be written.
    """
    folders = find_runs(runs_dir)
    if not folders:
        raise RunError(f"there are no runs in {runs_dir}: give a folder above run folders.")
    make_folder(database.parent)
    with _connect(database, "rwc") as connection:
        connection.execute("BEGIN IMMEDIATE")
        _refuse_foreign(connection, database)
        for statement in SCHEMA.split(";"):
            connection.execute(statement)
        for folder in folders:
            _insert(connection, folder.path.relative_to(runs_dir).as_posix(), read_run(folder.path))
            reach("index:run")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("COMMIT")
    return len(folders)


def query_runs(database: Path, *, variant: str | None = None, game: str | None = None) -> list[IndexedRun]:
    """The runs, of one variant or game where it is named, sorted by game, variant and seed."""
    sql = f"""SELECT {", ".join(IndexedRun._fields)} FROM runs
        WHERE (:variant IS NULL OR variant = :variant) AND (:game IS NULL OR game = :game)
        ORDER BY game, variant, seed, run"""  # noqa: S608 - the only text put in is our own field names
    return [IndexedRun(*row) for row in _query(database, sql, {"variant": variant, "game": game})]


def query_metric(database: Path, run: str, name: str) -> list[MetricPoint]:
    """Everything a run logged under one name, in the order it was logged."""
    sql = "SELECT iteration, phase, step, value FROM metrics WHERE run = :run AND name = :name ORDER BY rowid"
    return [MetricPoint(*row) for row in _query(database, sql, {"run": run, "name": name})]


def _insert(connection: sqlite3.Connection, name: str, run: RunResult) -> None:
    scores = run.final_scores if run.is_finished else ()
    final = sum(scores) / len(scores) if scores else None
    versions = (run.preprocessing_version, run.evaluation_version)
    identity = (name, run.preset, run.variant, run.game, run.seed, run.fingerprint, run.status, *versions)
    settings = json.dumps(run.settings, ensure_ascii=False)
    _insert_rows(connection, "runs", [(*identity, settings, sum(run.seconds.values()), final, len(scores))])
    _insert_rows(connection, "scores", [(name, *row) for row in run.episodes])
    logged = [
        (name, row.iteration, row.phase, row.step, key, value)
        for row in run.metrics
        for key, value in row.values.items()
    ]
    _insert_rows(connection, "metrics", logged)


def _insert_rows(connection: sqlite3.Connection, table: str, rows: list[tuple[Any, ...]]) -> None:
    if rows:
        marks = ", ".join("?" * len(rows[0]))
        connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)  # noqa: S608 - our own table names


def _query(database: Path, sql: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
    if not database.exists():
        raise IndexUnusable(f"there is no index at {database}: build it from the run folders first.")
    # Not read-only: after a kill the first reader has to roll the half-written transaction back.
    with _connect(database, "rw") as connection:
        _refuse_foreign(connection, database)
        return connection.execute(sql, values).fetchall()


@contextmanager
def _connect(database: Path, mode: str) -> Iterator[sqlite3.Connection]:
    """An open database; leaving the block by an exception rolls an unfinished transaction back."""
    try:
        uri = f"{database.absolute().as_uri()}?mode={mode}"
        with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as connection:
            yield connection
    except sqlite3.Error as error:
        raise IndexUnusable(
            f"the index {database} cannot be used ({error}): if nobody else is building it, delete it and build it "
            f"again; the run folders hold all of it."
        ) from error


def _refuse_foreign(connection: sqlite3.Connection, database: Path) -> None:
    (mark,) = connection.execute("PRAGMA application_id").fetchone()
    (num_tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if mark != APPLICATION_ID and num_tables:
        raise IndexUnusable(f"{database} is a database of another program: choose another name for the index.")
