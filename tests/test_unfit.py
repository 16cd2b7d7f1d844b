"""Options that name what is not there are told on the terminal, not on a page only."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command import in_process
from tests.support.export import Export, ms, us


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two ranks with steps 0 to 3."""
    folder = tmp_path_factory.mktemp("unfit") / "run"
    for rank in range(2):
        export = Export()
        for step in range(4):
            begin = ms(10 * step + 1)
            export.nvtx(f"step {step}", begin, begin + ms(10))
            export.kernel("gemm", begin + ms(1), begin + ms(8), launch=(begin, begin + us(5)))
        export.write_sqlite(folder / f"rank{rank}.sqlite")
    return folder


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--timeline-steps", "2"), None),
        (
            ("--timeline-steps", "2,77"),
            "no lane can show a step with the number 77: 1 to 3 were kept\n",
        ),
        (("--step-range", "step"), None),
        (("--step-range", "epoch"), "fits --step-range in 0000, 0001: steps were told otherwise"),
    ],
)
def test_it_is_told_and_only_then(
    run: Path, tmp_path: Path, options: tuple[str, ...], told: str | None
) -> None:
    ended = in_process("report", run, "-o", tmp_path / "out", "--jobs", 1, *options)
    assert ended.code == 0
    if told is None:
        assert "can show a step" not in ended.out
        assert "--step-range" not in ended.out
    else:
        assert told in ended.out


def test_ranges_that_overlap_are_not_said_to_be_missing(tmp_path: Path) -> None:
    """Pipelined loops open a step before they close the one before it."""
    export = Export()
    for step in range(4):
        begin = ms(10 * step + 1)
        export.nvtx("my step", begin, begin + ms(12), kind=60)
        export.kernel("gemm", begin + ms(1), begin + ms(8), launch=(begin, begin + us(5)))
    export.write_sqlite(tmp_path / "run" / "rank0.sqlite")
    ended = in_process(
        "report", tmp_path / "run", "-o", tmp_path / "out", "--jobs", 1, "--step-range", "my step"
    )
    assert ended.code == 0
    told = "the NVTX ranges that fit --step-range overlap each other in 0000: steps were told"
    assert told in ended.out
    assert "owns device work" not in ended.out
