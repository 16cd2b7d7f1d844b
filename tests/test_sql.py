"""``nsysflow sql``: every table of every trace, and no way out of the store."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from tests.support.command import Ended, in_process, snapshot
from tests.support.export import busy_export


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output folder of a run of two ranks."""
    run = tmp_path_factory.mktemp("run")
    for rank in (0, 1):
        busy_export().write_sqlite(run / f"rank{rank}.sqlite")
    assert in_process("convert", run, "--jobs", 1).code == 0
    return run / "nsysflow-report"


def ask(out: Path, query: str, *options: object) -> Ended:
    ended = in_process("sql", out, query, *options)
    assert "Traceback" not in ended.err
    return ended


def rows(out: Path, query: str) -> list[dict[str, object]]:
    ended = ask(out, query, "--format", "json")
    assert ended.code == 0, ended.err
    found = json.loads(ended.out)
    assert isinstance(found, list)
    return found


def test_all_traces_at_once(out: Path) -> None:
    found = rows(
        out, "SELECT trace, count(*) AS n, sum(end_ns - start_ns) AS ns FROM op GROUP BY ALL"
    )
    assert sorted(row["trace"][:5] for row in found) == ["rank0", "rank1"]  # type: ignore[index]
    assert {(row["n"], row["ns"]) for row in found} == {(2, 80_000_000)}


def test_without_a_query_the_tables(out: Path) -> None:
    listed = {tuple(line.split()) for line in in_process("sql", out).out.splitlines()[1:]}
    assert ("op", "trace", "string") in listed
    assert ("op", "start_ns", "int64") in listed
    assert ("nvtx", "open", "bool") in listed


def test_a_run_is_as_good_as_its_folder(out: Path) -> None:
    assert rows(out.parent, "SELECT count(*) AS n FROM op") == [{"n": 4}]


def test_a_run_that_was_not_converted_is_now(tmp_path: Path) -> None:
    busy_export().write_sqlite(tmp_path / "run" / "rank0.sqlite")
    assert rows(tmp_path / "run", "SELECT count(*) AS n FROM op") == [{"n": 2}]


QUERY = "SELECT name, short_name FROM kernel_name ORDER BY ALL LIMIT 1"


def test_forms(out: Path, tmp_path: Path) -> None:
    assert ask(out, QUERY).out.split() == ["name", "short_name", "gemm", "gemm"]
    text = ask(out, "SELECT 'a,\"b\"' AS q, NULL AS n, 7 AS i", "--format", "csv").out
    assert list(csv.reader(io.StringIO(text))) == [["q", "n", "i"], ['a,"b"', "", "7"]]
    assert rows(out, "SELECT 1 AS a WHERE false") == []
    assert rows(out, "SELECT 9223372036854775807 AS a, {'b': [1]} AS s, 'NaN'::DOUBLE AS x") == [
        {"a": 9223372036854775807, "s": {"b": [1]}, "x": None}
    ]
    target = tmp_path / "rows.parquet"
    assert ask(out, "SELECT * FROM op", "--format", "parquet", "-o", target).code == 0
    assert pq.read_table(target).num_rows == 4
    assert ask(out, "SELECT * FROM op", "--format", "parquet").code == 2
    (tmp_path / "query.sql").write_text("-- how many\nSELECT count(*) AS n FROM op;\n")
    ended = in_process(
        "sql", out, "-f", tmp_path / "query.sql", "-o", tmp_path / "n", "--format", "csv"
    )
    assert (ended.out, (tmp_path / "n").read_text()) == ("", "n\n4\n")


def test_a_dash_is_stdout(out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert in_process("sql", out, "SELECT 1 AS a", "-o", "-", "--format", "csv").out == "a\n1\n"
    refused = in_process("sql", out, "SELECT 1 AS a", "-o", "-", "--format", "parquet")
    assert (refused.code, "is no text" in refused.err) == (2, True)
    assert not (tmp_path / "-").exists()


def test_a_query_file_of_any_editor(out: Path, tmp_path: Path) -> None:
    path = tmp_path / "q.sql"
    path.write_bytes(b"\xef\xbb\xbf-- one\r\nSELECT 1 AS a;\r\n")
    assert in_process("sql", out, "-f", path, "--format", "csv").out == "a\n1\n"
    path.write_bytes("SELECT 'é'".encode("utf-16"))
    refused = in_process("sql", out, "-f", path)
    assert refused.code == 2
    assert refused.failures == [f"nsysflow: the query {path} cannot be read: it is no UTF-8"]


def test_a_terminal_is_not_steered(out: Path) -> None:
    query = "SELECT 'a' || chr(27) || '[31m' || chr(8238) || chr(10) || 'b' AS x"
    assert ask(out, query).out == "x\na\\x1b[31m\\u202e b\n"


@pytest.mark.parametrize(
    "query",
    [
        "WITH a AS (SELECT * FROM op) SELECT count(*) FROM a",
        "FROM op",
        "DESCRIBE op",
        "SHOW TABLES",
        "SUMMARIZE op",
        "EXPLAIN SELECT * FROM op",
        "EXPLAIN ANALYZE SELECT count(*) FROM op",
        "EXPLAIN (FORMAT json) SELECT 1",
        "VALUES (1)",
        "SELECT 1 UNION ALL SELECT 2",
        "WITH RECURSIVE a AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM a WHERE x < 3) FROM a",
        "SELECT * FROM op AS a ASOF JOIN op AS b ON a.start_ns >= b.start_ns",
        "PIVOT op ON lane IN (0, 1) USING count(*)",
    ],
)
def test_what_reads(out: Path, query: str) -> None:
    ended = ask(out, query)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out


@pytest.mark.parametrize(
    "query",
    [
        "",
        "-- nothing",
        "SELECT 1; SELECT 2",
        "SELECT 1; DROP VIEW op",
        "COPY op TO '{there}'",
        "COPY (SELECT 1) TO '{there}'",
        "EXPLAIN ANALYZE COPY (SELECT 1) TO '{there}'",
        "EXPLAIN /* */ ANALYZE COPY (SELECT 1) TO '{there}'",
        "WITH a AS (COPY (SELECT 1) TO '{there}') SELECT 1",
        "SELECT * FROM (WITH a AS (COPY (SELECT 1) TO '{there}') SELECT 1)",
        "EXPLAIN ANALYZE WITH a AS (COPY (SELECT 1) TO '{there}') SELECT 1",
        "EXPORT DATABASE '{there}'",
        "ATTACH '{there}' AS there",
        "CREATE TABLE t AS SELECT 1",
        "CREATE VIEW v AS SELECT 1",
        "DROP VIEW op",
        "INSERT INTO op SELECT * FROM op",
        "DELETE FROM op",
        "UPDATE op SET lane = 1",
        "WITH a AS (DELETE FROM op RETURNING *) SELECT * FROM a",
        "SET memory_limit = '1GB'",
        "SET enable_external_access = true",
        "RESET lock_configuration",
        "PRAGMA database_list",
        "PRAGMA enable_profiling",
        "CALL pragma_version()",
        "INSTALL httpfs",
        "LOAD httpfs",
        "PREPARE p AS SELECT 1",
        "EXECUTE p",
        "BEGIN",
        "CHECKPOINT",
        "USE main",
        "VACUUM",
        "SELECT * FROM read_csv('{secret}')",
        "SELECT * FROM '{secret}'",
        "SELECT * FROM read_text('{secret}')",
        "SELECT * FROM read_blob('{secret}')",
        "SELECT * FROM read_parquet('{store}/*/op.parquet')",
        "SELECT * FROM parquet_metadata('{secret}')",
        "SELECT * FROM glob('{folder}/*')",
        "SELECT * FROM read_text('http://127.0.0.1:9/')",
        "SELECT getenv('HOME')",
        "SELECT * FROM duckdb_secrets()",
        "SELECT * FROM query('COPY (SELECT 1) TO ''{there}''')",
        "SELECT * FROM sqlite_scan('{secret}', 'x')",
        "SELECT * FROM connection",
        "SELECT * FROM store",
        "SELECT no_such FROM op",
        "SELEC 1",
    ],
)
def test_what_does_not(out: Path, tmp_path: Path, query: str) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("a,b\nhidden,hidden\n")
    before = snapshot(out / "store")
    text = query.format(
        there=tmp_path / "there", secret=secret, folder=tmp_path, store=out / "store"
    )
    ended = ask(out, text)
    assert (ended.code, ended.out) == (2, "")
    assert len(ended.failures) == 1, ended.err
    assert "hidden" not in ended.err
    assert [path.name for path in tmp_path.iterdir()] == ["secret.csv"]
    assert snapshot(out / "store") == before


def test_settings_are_locked(out: Path) -> None:
    names = "'enable_external_access', 'lock_configuration', 'autoload_known_extensions'"
    query = f"SELECT name, value FROM duckdb_settings() WHERE name IN ({names})"
    assert {row["name"]: row["value"] for row in rows(out, query)} == {
        "enable_external_access": "false",
        "lock_configuration": "true",
        "autoload_known_extensions": "false",
    }


def test_more_than_memory_spills(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nsysflow.executor._USUAL_MEMORY", 70_000_000)
    query = (
        "SELECT count(*) AS n FROM "
        "(SELECT range, hash(range) AS h FROM range(6_000_000) ORDER BY h, range LIMIT 5_000_000)"
    )
    assert rows(out, query) == [{"n": 5_000_000}]


def test_the_refusals_are_ours_not_chance() -> None:
    # What is refused above works in a DuckDB that is not locked.
    assert duckdb.sql("SELECT count(*) FROM glob('/*')").fetchall()[0][0] > 0


def test_columns_of_one_name_stay_apart(out: Path, tmp_path: Path) -> None:
    query = "SELECT 1 AS a, 2 AS A, 3 AS b, 4 AS a, 5 AS a_1"
    names = ["a", "A_1", "b", "a_2", "a_1_1"]
    # As DuckDB itself names them where it must.
    assert duckdb.sql(f"SELECT * FROM ({query})").columns == names
    expected = dict(zip(names, [1, 2, 3, 4, 5], strict=True))
    assert rows(out, query) == [expected]
    assert ask(out, query).out.split() == [*names, *"12345"]
    text = ask(out, query, "--format", "csv").out
    assert list(csv.DictReader(io.StringIO(text))) == [{n: str(i) for n, i in expected.items()}]
    target = tmp_path / "rows.parquet"
    assert ask(out, query, "--format", "parquet", "-o", target).code == 0
    assert pq.read_table(target).to_pylist() == [expected]
    traces = "SELECT o.trace, l.trace, 7 AS trace FROM op AS o, lane AS l LIMIT 1"
    assert list(rows(out, traces)[0]) == ["trace", "trace_1", "trace_2"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("'inf'::DOUBLE", None),
        ("'-inf'::FLOAT", None),
        ("['nan'::DOUBLE, 1.5]", [None, 1.5]),
        ("{'a': {'b': '-inf'::DOUBLE}}", {"a": {"b": None}}),
        ("map {'k': 'inf'::DOUBLE}", [["k", None]]),
        ("'\\x00\\xAAz'::BLOB", "00aa7a"),
        ("['\\xFF'::BLOB]", ["ff"]),
        ("INTERVAL '14 months 2 days 03:04:05.678'", "P14M2DT3H4M5.678S"),
        ("INTERVAL '-90 minutes'", "PT-1H-30M"),
        ("INTERVAL '-1 day 20 seconds'", "P-1DT20S"),
        ("INTERVAL '0 days'", "PT0S"),
        ("[INTERVAL '1 day']", ["P1D"]),
        ("DATE '2024-02-29'", "2024-02-29"),
        ("TIMESTAMP '2024-02-29 01:02:03.5'", "2024-02-29T01:02:03.500000"),
        ("TIMESTAMP_NS '2024-02-29 01:02:03.000000001'", "2024-02-29T01:02:03.000000001"),
        ("[TIMESTAMP_NS '2024-02-29 01:02:03.000000001']", ["2024-02-29T01:02:03.000000001"]),
        ("TIMESTAMPTZ '2024-02-29 01:02:03+00'", "2024-02-29T01:02:03+00:00"),
        ("TIME '01:02:03.5'", "01:02:03.500000"),
        ("'infinity'::DATE", "infinity"),
        ("'-infinity'::TIMESTAMP", "-infinity"),
        ("1.50::DECIMAL(10, 2)", 1.5),
    ],
)
def test_json_is_valid_whatever_the_type(out: Path, value: str, expected: object) -> None:
    def refuse(constant: str) -> object:
        raise AssertionError(f"{constant} is no JSON")

    ended = ask(out, f"SELECT {value} AS x", "--format", "json")
    assert ended.code == 0, ended.err
    assert json.loads(ended.out, parse_constant=refuse) == [{"x": expected}]
    for form in ("csv", "table"):
        ended = ask(out, f"SELECT {value} AS x", "--format", form)
        assert (ended.code, ended.err) == (0, "")
        assert "b'" not in ended.out


def test_traces_that_are_missing_are_named_every_time(tmp_path: Path) -> None:
    """An answer over some of the ranks must not pass for one over all."""
    busy_export().write_sqlite(tmp_path / "run" / "rank0.sqlite")
    (tmp_path / "run" / "rank1.sqlite").write_bytes(b"no database")
    for _ in range(2):
        ended = in_process("sql", tmp_path / "run", "SELECT count(*) FROM op", "--format", "csv")
        assert ended.code == 3
        assert ended.out.splitlines()[1:] == ["2"]
        assert len([line for line in ended.failures if line.startswith("rank1.sqlite: ")]) == 1


@pytest.mark.parametrize(
    ("name", "begins"),
    [("rows.csv", b"a\n1\n"), ("rows.JSON", b"[\n{"), ("rows.parquet", b"PAR1"), ("rows", b"a\n1")],
)
def test_a_file_holds_what_its_name_says(
    out: Path, tmp_path: Path, name: str, begins: bytes
) -> None:
    target = tmp_path / name
    assert ask(out, "SELECT 1 AS a", "-o", target).code == 0
    assert target.read_bytes().startswith(begins)
    # What is asked for goes before.
    assert ask(out, "SELECT 1 AS a", "-o", tmp_path / "x.csv", "--format", "json").code == 0
    assert (tmp_path / "x.csv").read_text("utf-8").startswith("[")


def test_an_empty_query_is_named_as_such(out: Path) -> None:
    ended = ask(out, " -- nothing")
    assert (ended.code, len(ended.failures)) == (2, 1)
    assert "the query is empty" in ended.err


def test_a_store_without_its_record_answers_nothing(out: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(out, copy)
    for path in (copy / "store").glob("inputs-*.json"):
        path.unlink()
    ended = ask(copy, "SELECT 1 AS a")
    assert (ended.code, ended.out, len(ended.failures)) == (2, "", 1)
