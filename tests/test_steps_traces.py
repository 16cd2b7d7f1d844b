"""Steps of real traces: those that have some keep them, and no layer is taken for one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from nsysflow.analyse import analyse_lane
from nsysflow.convert import convert_trace, trace_folder
from nsysflow.find import find_inputs
from nsysflow.rank import rank_table
from nsysflow.settings import Limits, Settings

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


def steps_of(path: Path, folder: Path) -> list[dict[str, Any]]:
    """The steps of every lane of one trace."""
    (only,) = find_inputs([path]).inputs
    settings, limits, name = Settings(), Limits(temp_dir=folder), trace_folder(only)
    convert_trace(only, folder / name, settings, limits)
    capture = json.loads((folder / name / "capture.json").read_text("utf-8"))
    lanes = rank_table([capture | {"trace": name}], settings).lanes
    return [analyse_lane(folder, lane, settings, limits)["steps"] for lane in lanes]


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("a100_transformer_fwd", 57),  # a layer
        ("a100_transformer_nvtx", 57),  # and phases that are annotated
        ("h100_2rank_before", 119),  # a unit of a diffusion model
        ("h100_2rank_after", 119),
        ("windows_attention", 897),
        ("a100_cloverleaf", 250),
    ],
)
def test_what_repeats_is_no_step(traces: Path, tmp_path: Path, name: str, unit: int) -> None:
    for steps in steps_of(traces / f"{name}.sqlite", tmp_path):
        assert (steps["source"], steps["kept"]) == ("none", 1)
        assert steps["confidence"] == 0.1
        assert steps["note"] == f"a repeating unit of {unit} kernels, not a step"


@pytest.mark.parametrize("name", ["h200_fuser", "a100_cudagraph"])
def test_nothing_repeats(traces: Path, tmp_path: Path, name: str) -> None:
    (steps,) = steps_of(traces / f"{name}.sqlite", tmp_path)
    assert (steps["source"], steps["note"]) == ("none", None)


def test_numbered_ranges_beside_a_librarys(traces: Path, tmp_path: Path) -> None:
    (steps,) = steps_of(traces / "t4_cupy_osrt.sqlite", tmp_path)
    assert (steps["source"], steps["pattern"]) == ("nvtx_step", "Step N to N")
    assert [item["number"] for item in steps["items"]] == list(range(0, 440, 10))
    assert steps["dropped"] == [{"index": 43, "number": 430, "reason": "fragment"}]


def test_profiler_steps_are_kept(traces: Path, tmp_path: Path) -> None:
    """One step whose beginning was not seen is better than none, and so are three."""
    (ddp,) = steps_of(traces / "a100_ddp_rank0.sqlite", tmp_path / "ddp")
    assert [(item["number"], item["kept"]) for item in ddp["items"]] == [
        (4, True),
        (5, True),
        (6, True),
    ]
    assert ddp["dropped"] == []
    for rank in range(8):
        (one,) = steps_of(traces / "dlrm8" / f"dlrm8_rank{rank}.sqlite", tmp_path / str(rank))
        (item,) = one["items"]
        assert (item["kept"], item["flags"]) == (True, ["leading_gap_unseen"])
        assert one["source"] == "nvtx_step"
