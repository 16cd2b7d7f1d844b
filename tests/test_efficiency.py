"""How kernels fill the GPU: waves, runs, small kernels, uneven ones, each planted by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from nsysflow.analyse.runs import edges
from nsysflow.analyses.efficiency import NO_ETA, with_rate
from nsysflow.analyses.occupancy import fit
from nsysflow.render import render_rank
from tests.support.engine import analysed
from tests.support.export import Export, us
from tests.support.html_page import Page
from tests.support.schemas import check

if TYPE_CHECKING:
    from pathlib import Path

H100 = {
    "maxRegistersPerSm": 65_536,
    "maxShmemPerSm": 233_472,
    "maxWarpsPerSm": 64,
    "maxBlocksPerSm": 32,
    "threadsPerWarp": 32,
}
LIMITS = {
    "sm_count": 132,
    "registers_per_sm": 65_536,
    "shared_bytes_per_sm": 233_472,
    "warps_per_sm": 64,
    "blocks_per_sm": 32,
    "warp_threads": 32,
}
GEMM = "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_128x128_32x3_nn_align2>"
COPY = "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda>"
ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>"


def shape(grid: int, threads: int, registers: int, shared: int) -> dict[str, int]:
    return {"grid": grid, "block": threads, "registers": registers, "shared_bytes": shared}


# By hand: 128 threads are 4 warps; 168 registers take 5,376 a warp, so 3 blocks of 21,504.
@pytest.mark.parametrize(
    ("launch", "limiter", "blocks", "waves"),
    [
        (shape(400, 128, 168, 0), "registers", 3, 400 / 396),
        (shape(1000, 128, 32, 100_000), "shared_memory", 2, 1000 / 264),
        (shape(10_000, 1024, 16, 0), "warps", 2, 10_000 / 264),
        (shape(10_000, 32, 16, 0), "blocks", 32, 10_000 / 4224),
        # No more blocks than fit at once, then a grid sized to the GPU: nothing to tell.
        (shape(390, 128, 168, 0), "registers", 3, None),
        (shape(132 * 5, 128, 168, 0), "registers", 3, None),
    ],
)
def test_blocks_of_one_multiprocessor(
    launch: dict[str, int], limiter: str, blocks: int, waves: float | None
) -> None:
    found = fit(launch, LIMITS)
    assert found is not None
    warps = launch["block"] // 32
    assert (found.limiter, found.occupancy_frac) == (limiter, round(blocks * warps / 64, 6))
    assert found.waves == (None if waves is None else round(waves, 6))
    if waves is not None:
        assert found.tail_frac == round(waves / -int(-waves // 1), 6)


def test_a_grid_smaller_than_the_gpu_leaves_multiprocessors_without_a_block() -> None:
    found = fit(shape(33, 128, 32, 0), LIMITS)
    assert found is not None
    assert (found.sm_frac, found.waves) == (0.25, None)


@pytest.mark.parametrize("lack", ["grid", "block", "registers", "shared_bytes"])
def test_a_shape_that_was_not_recorded_is_not_judged(lack: str) -> None:
    assert fit(shape(400, 128, 168, 0) | {lack: None}, LIMITS) is None


def planted(limits: dict[str, int], steps: int = 5) -> Export:
    """A step: a product of 400 blocks, then three copies and an addition in a row, a norm alone."""
    export = Export()
    export.gpu(0, "NVIDIA H100 80GB HBM3", "GPU-aaaa", **limits)
    at = 1_000
    for number in range(steps):
        begin = at
        wide = {"gridX": 400, "registersPerThread": 168}
        export.kernel(GEMM, at, at + us(1000), launch=(at - 900, at - 890), more=wide)
        at += us(1000)
        # Every other step takes half as long again.
        copy_ns = us(40) if number % 2 else us(60)
        for name in (COPY, COPY, COPY, ADD):
            ns = copy_ns if name == COPY else us(5)
            export.kernel(name, at, at + ns, launch=(at - 900, at - 890))
            at += ns
        export.kernel(GEMM, at, at + us(100), launch=(at - 900, at - 890), more=wide)
        at += us(100)
        export.kernel(ADD, at, at + us(5), launch=(at - 900, at - 890))
        at += us(5)
        export.nvtx(f"step {number}", begin - 950, at - 950)
        at += 2_000
    return export


def section_of(export: Export, tmp_path: Path) -> dict[str, Any]:
    (document,) = analysed(export, tmp_path).values()
    check(document, "rank-1")
    section: dict[str, Any] = document["efficiency"]
    assert section["status"] == "ok"
    return section | {"document": document}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return section_of(planted(H100), tmp_path_factory.mktemp("planted"))


def test_planted_answers(found: dict[str, Any]) -> None:
    # The first step's start was not seen.
    kept = found["document"]["steps"]["kept"]
    assert kept == 4
    by_name = {row["name"]: row for row in found["items"]}
    gemm = by_name[GEMM]
    assert (gemm["grid"], gemm["count"], gemm["work_ns"]) == (400, 2 * kept, us(1100) * kept)
    # 400 blocks where 396 fit: two rounds, half of them empty.
    assert gemm["waves"] == round(400 / 396, 6)
    assert gemm["lost_ns"] == pytest.approx(us(1100) * kept * (1 - 400 / 792), rel=1e-5)
    assert found["tail_lost_ns"] == gemm["lost_ns"]
    assert "not aligned" in gemm["hint"]
    assert gemm["variation_frac"] == 0
    # Steps of 40 and of 60 µs: ten from the mean of fifty.
    assert by_name[COPY]["variation_frac"] == pytest.approx(0.2)
    assert by_name[COPY]["lost_ns"] is None
    chains = found["chains"]
    assert (chains["count"], chains["kernels"]) == (kept, 4 * kept)
    assert chains["work_ns"] == 2 * us(3 * 40 + 5) + 2 * us(3 * 60 + 5)
    small = found["small"]
    assert (small["count"], small["work_ns"]) == (2 * kept, us(10) * kept)
    assert small["count_frac"] == round(2 / 7, 6)


def test_the_finding_and_the_page(found: dict[str, Any]) -> None:
    document = found["document"]
    (card,) = [f for f in document["findings"] if f["id"] == "wave_tail"]
    assert (card["status"], card["bucket"]) == ("opportunity", None)
    assert card["bound_ns_per_step"] == round(found["tail_lost_ns"] / 4)
    page = Page(render_rank(document))
    assert "1 run per step" in page.text
    # Evidence points to the table that proves it.
    assert ("a", {"href": "#t-efficiency"}) in page.tags
    assert any(attrs.get("id") == "t-efficiency" for _, attrs in page.tags)


def test_without_limits_waves_are_not_told(tmp_path: Path) -> None:
    found = section_of(planted({}), tmp_path)
    assert found["tail_lost_ns"] is None
    assert all(row["waves"] is None and row["occupancy_frac"] is None for row in found["items"])
    assert found["chains"]["count"] == 4
    document = found["document"]
    (card,) = [f for f in document["findings"] if f["id"] == "wave_tail"]
    assert card["status"] == "unavailable"
    assert found["limits_reason"] in Page(render_rank(document)).text


def test_the_rate_of_tensor_kernels() -> None:
    section = {"status": "ok", "tensor_rate_frac": None, "tensor_rate_reason": NO_ETA}
    with_rate(section, {"hfu": 0.3, "waterfall": [{}]}, window_ns=1_000, tensor_ns=400)
    assert section["tensor_rate_frac"] == 0.75
    assert section["tensor_rate_reason"] is None
    with_rate(section, {"hfu": None, "waterfall": [], "reason": "no peak"}, 1_000, 400)
    assert (section["tensor_rate_frac"], section["tensor_rate_reason"]) == (None, "no peak")


@pytest.mark.parametrize("seed", range(8))
def test_runs_against_one_by_one(seed: int) -> None:
    """Kernels walked one by one: a run ends with another stream, step or kind of kernel."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(0, 60))
    fusible = rng.random(size) < 0.7
    place = [np.sort(rng.integers(0, 3, size)), np.sort(rng.integers(0, 2, size))]
    expected, begin = [], 0
    for at in range(1, size + 1):
        same = at < size and all(each[at] == each[begin] for each in place)
        if same and fusible[at] == fusible[begin]:
            continue
        if fusible[begin] and at - begin > 1:
            expected.append((begin, at - 1))
        begin = at
    first, last = edges(fusible, place)
    assert list(zip(first.tolist(), last.tolist(), strict=True)) == expected
