"""Every published decision, and that a changed one would be noticed."""

from __future__ import annotations

from pathlib import Path

import pytest

import vectors

FOLDER = Path(__file__).parents[3] / "vectors"


def test_every_published_decision() -> None:
    done = vectors.replay(FOLDER)
    assert done.failures == []
    files = [
        *FOLDER.glob("*.jsonl"),
        *FOLDER.glob("callers/*.jsonl"),
        FOLDER / "edges" / "waiting.jsonl",
        FOLDER / "rules" / "rules_decide.jsonl",
    ]
    rows = sum(line.startswith("[") for path in files for line in path.read_text().splitlines())
    assert done.passed >= rows > 100_000


def test_every_row_that_names_a_zone() -> None:
    done = vectors.Replay()
    done.file(FOLDER / "callers" / "calendar_moving.jsonl")
    assert (done.failures, done.passed) == ([], 5370)


@pytest.mark.parametrize(
    ("file", "rows"), [("drafts", 9), ("fields", 1888), ("fields_several", 560), ("fields_construct", 287)]
)
def test_every_row_of_fields(file: str, rows: int) -> None:
    done = vectors.Replay()
    done.file(FOLDER / "edges" / f"{file}.jsonl")
    assert (done.failures, done.passed) == ([], rows)


@pytest.mark.parametrize(
    ("file", "rows"),
    [
        ("reserve", 30_008),
        ("concurrency", 10_283),
        ("concurrency_construct", 22),
        ("change", 14_014),
        ("change_refused", 136),
    ],
)
def test_every_row_of_what_is_held(file: str, rows: int) -> None:
    done = vectors.Replay()
    done.file(FOLDER / "held" / f"{file}.jsonl")
    assert (done.failures, done.passed) == ([], rows)


@pytest.mark.parametrize(
    ("file", "row", "column"),
    [
        ("reserve", '["settle",1,', 5),
        ("concurrency", '["release",1,', -1),
        ("concurrency", '["renew",', 5),
        ("change", "[50001108185275,", 4),
    ],
)
def test_a_changed_figure_of_what_is_held_fails(tmp_path: Path, file: str, row: str, column: int) -> None:
    lines = (FOLDER / "held" / f"{file}.jsonl").read_text().splitlines()
    number = next(n for n, line in enumerate(lines) if line.startswith(row))
    figures = lines[number].strip("[]").split(",")
    figures[column] = str(int(figures[column]) + 1)
    lines[number] = f"[{','.join(figures)}]"
    (tmp_path / "held").mkdir()
    (tmp_path / "held" / f"{file}.jsonl").write_text("\n".join(lines))
    assert len(vectors.replay(tmp_path).failures) == 1


def test_the_rows_of_real_layers_are_written_by_policies_too() -> None:
    done = vectors.Replay()
    for file in ("fields", "fields_several"):
        done.file(FOLDER / "edges" / f"{file}.jsonl")
    assert done.by_policy > 1000


@pytest.mark.parametrize(
    ("file", "figure", "changed"),
    [
        ("fields", r"\"api\";r=150;t=1", r"\"api\";r=150;t=2"),
        ("fields_construct", '"error":"bad_unit"', '"error":"bad_name"'),
    ],
)
def test_a_changed_field_fails(tmp_path: Path, file: str, figure: str, changed: str) -> None:
    text = (FOLDER / "edges" / f"{file}.jsonl").read_text()
    (tmp_path / "edges").mkdir()
    (tmp_path / "edges" / f"{file}.jsonl").write_text(text.replace(figure, changed, 1))
    assert len(vectors.replay(tmp_path).failures) == 1


def test_every_answer_of_rules() -> None:
    done = vectors.Replay()
    done.file(FOLDER / "rules" / "rules_decide.jsonl")
    assert (done.failures, done.passed) == ([], 3500)


@pytest.mark.parametrize(
    ("figure", "changed"),
    [
        ('1,null,0,0,"export",1,0,30000000000,', '0,"export",0,0,"export",1,0,30000000000,'),
        ('1,null,0,0,"export",1,0,30000000000,', '1,null,0,1,"export",1,0,30000000000,'),
        ('1,null,0,0,"export",1,0,30000000000,', '1,null,0,0,"export",1,1,30000000000,'),
        ('[["tighter",1]]]', '[["tighter",0]]]'),
    ],
)
def test_a_changed_answer_of_rules_fails(tmp_path: Path, figure: str, changed: str) -> None:
    text = (FOLDER / "rules" / "rules_decide.jsonl").read_text()
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "rules_decide.jsonl").write_text(text.replace(figure, changed, 1))
    assert len(vectors.replay(tmp_path).failures) == 1


@pytest.mark.parametrize("column", [3, 4, 5, 6])
def test_a_changed_figure_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str], column: int) -> None:
    lines = (FOLDER / "basic.jsonl").read_text().splitlines()
    number = next(n for n, line in enumerate(lines) if line.startswith("[") and '"a",0,1,10,0,0' in line)
    row = lines[number].strip("[]").split(",")
    row[column] = "0" if column == 3 else str(int(row[column]) + 1)
    lines[number] = f"[{','.join(row)}]"
    (tmp_path / "basic.jsonl").write_text("\n".join(lines))
    assert vectors.main(str(tmp_path)) == 1
    printed = capsys.readouterr().out
    assert f"basic.jsonl:{number + 1}: expected" in printed
    assert printed.endswith(", 1 failed\n")


def test_nothing_to_replay_is_no_success(tmp_path: Path) -> None:
    assert vectors.main(str(tmp_path)) == 1


@pytest.mark.parametrize("figure", ['"finish",1,"go"', '"ask",2,null'])
def test_a_changed_trace_fails(tmp_path: Path, figure: str) -> None:
    text = (FOLDER / "edges" / "waiting.jsonl").read_text()
    (tmp_path / "edges").mkdir()
    (tmp_path / "edges" / "waiting.jsonl").write_text(text.replace(f"[{figure}", f"[{figure},0", 1))
    done = vectors.replay(tmp_path)
    assert len(done.failures) == 1
    assert done.passed > 7000
