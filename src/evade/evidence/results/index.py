"""SQLite index of all runs below a folder, for queries that would otherwise open every run folder.

The index is a copy: it is rebuilt from the run folders in one transaction, so concurrent readers, and readers after a
killed build, see the previous content. It may be deleted at any time.
"""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from evade.errors import IndexUnusable
from evade.evidence.results.read import RunResult, read_runs
from evade.runs.failpoints import reach
from evade.runs.files import make_folder
from evade.runs.folder import ignore_warning

APPLICATION_ID = 0x45564144
"""Marks a SQLite file as ours ("EVAD"), so that no other program's tables are replaced."""

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
"""One row of `runs` per run folder, of `scores` per episode, of `metrics` per logged number."""


class IndexedRun(NamedTuple):
    """One row of the table `runs`."""

    run: str
    """The run's folder, relative to the indexed folder."""
    game: str
    variant: str
    seed: int
    status: str
    final_score: float | None
    """`RunResult.final_score`: None unless the run is finished."""


class MetricPoint(NamedTuple):
    """One logged value of a metric."""

    iteration: int
    phase: str
    step: int
    value: float | None


def build_index(runs_dir: Path, database: Path, warn: Callable[[str], None] = ignore_warning) -> int:
    """Index every run below `runs_dir`, replacing the index's content, and return the number of runs.

    Args:
        runs_dir: where to look.
        database: the index.
        warn: called with a message for every run that cannot be read and is left out.

    Raises:
        RunError: there are no runs, or none can be read; an existing index is not changed.
        IndexUnusable: the file belongs to another program, is damaged, or cannot be written.
    """
    runs = read_runs([runs_dir], warn)
    make_folder(database.parent)
    with _connect(database, "rwc") as connection:
        connection.execute("BEGIN IMMEDIATE")
        _refuse_foreign(connection, database)
        for statement in SCHEMA.split(";"):
            connection.execute(statement)
        for run in runs:
            _insert(connection, run.folder.path.relative_to(runs_dir).as_posix(), run)
            reach("index:run")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("COMMIT")
    return len(runs)


def query_runs(database: Path, *, variant: str | None = None, game: str | None = None) -> list[IndexedRun]:
    """List runs, optionally of one variant or game, sorted by game, variant and seed."""
    sql = f"""SELECT {", ".join(IndexedRun._fields)} FROM runs
        WHERE (:variant IS NULL OR variant = :variant) AND (:game IS NULL OR game = :game)
        ORDER BY game, variant, seed, run"""  # noqa: S608 - the only text put in is our own field names
    return [IndexedRun(*row) for row in _query(database, sql, {"variant": variant, "game": game})]


def query_metric(database: Path, run: str, name: str) -> list[MetricPoint]:
    """List every value that a run logged of one metric (full name), in order."""
    sql = "SELECT iteration, phase, step, value FROM metrics WHERE run = :run AND name = :name ORDER BY rowid"
    return [MetricPoint(*row) for row in _query(database, sql, {"run": run, "name": name})]


def _insert(connection: sqlite3.Connection, name: str, run: RunResult) -> None:
    num_final = len(run.final_scores) if run.is_finished else 0
    versions = (run.preprocessing_version, run.evaluation_version)
    identity = (name, run.preset, run.variant, run.game, run.seed, run.fingerprint, run.status, *versions)
    settings = json.dumps(run.settings, ensure_ascii=False)
    seconds = sum(run.seconds.values())
    _insert_rows(connection, "runs", [(*identity, settings, seconds, run.final_score, num_final)])
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
        raise IndexUnusable(f"there is no index at {database}: build it first, with `evade index`.")
    # Not read-only: after a kill, the first reader has to roll back the half-written transaction.
    with _connect(database, "rw") as connection:
        _refuse_foreign(connection, database)
        return connection.execute(sql, values).fetchall()


@contextmanager
def _connect(database: Path, mode: str) -> Iterator[sqlite3.Connection]:
    """Open a database; an exception inside the block rolls back the unfinished transaction."""
    try:
        uri = f"{database.absolute().as_uri()}?mode={mode}"
        with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as connection:
            yield connection
    except sqlite3.Error as error:
        raise IndexUnusable(
            f"the index {database} cannot be used ({error}): if no other process is building it, delete it and build "
            f"it again from the run folders."
        ) from error


def _refuse_foreign(connection: sqlite3.Connection, database: Path) -> None:
    (mark,) = connection.execute("PRAGMA application_id").fetchone()
    (num_tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if mark != APPLICATION_ID and num_tables:
        raise IndexUnusable(f"{database} is a database of another program: choose another name for the index.")
