"""MFU: FLOPs by published vectors, peaks by device name, shares that sum, inputs that disagree."""

from __future__ import annotations

import random
from math import fsum
from typing import Any

import pytest

from nsysflow.mfu.flops import count, training_flops
from nsysflow.mfu.measured import Measured, of_job, of_lane
from nsysflow.mfu.peaks import Device, find_peak, find_row, table
from nsysflow.mfu.section import job_section, lane_section, section
from nsysflow.mfu.waterfall import NAMES, waterfall
from nsysflow.model import BUCKETS, CLASSES
from tests.support import documents

H100 = "NVIDIA H100 80GB HBM3"
SEED = {"params": 7e9, "dtype": "bf16", "attention": "none", "world_size": 1}
LLAMA_8B = {
    "layers": 32, "hidden": 4096, "heads": 32, "kv_heads": 8, "ffn": 14336, "vocab": 128256,
    "seq_len": 8192, "dtype": "bf16", "attention": "causal",
}  # fmt: skip
LLAMA_405B = LLAMA_8B | {
    "layers": 126, "hidden": 16384, "heads": 128, "ffn": 53248,
}  # fmt: skip


def measured(period_ns: int = 10**9, **changes: Any) -> Measured:
    """A lane on an H100 whose kernels, all matrix work, fill its steps."""
    window = 4 * period_ns
    buckets = dict.fromkeys(BUCKETS, 0) | {"window_ns": window, "compute_only": window}
    facts = {
        "period_ns": period_ns,
        "median_ns": period_ns,
        "kept": 4,
        "confidence": 0.95,
        "buckets": buckets,
        "tensor_ns": window,
        "bubble_ns": 0,
        "devices": (Device(H100, 132),),
    }
    return Measured(**facts | changes)


def run(model: dict[str, Any], peak: float | None = None, **changes: Any) -> dict[str, Any]:
    return section(model, {"peak_tflops": peak} if peak else {}, measured(**changes))


def at_rate(model: dict[str, Any], tokens_per_s: float, peak: float) -> dict[str, Any]:
    """MFU at so many tokens per second and GPU: a step of 1 s on one GPU."""
    return run(model | {"tokens_per_step": tokens_per_s}, peak)


def verdicts(found: dict[str, Any]) -> dict[str, str]:
    return {check["id"]: check["verdict"] for check in found["checks"]}


def text_of(found: dict[str, Any], name: str) -> str:
    return next(check["text"] for check in found["checks"] if check["id"] == name)


# Published figures


@pytest.mark.parametrize(
    ("tokens_per_s", "peak", "percent"),
    [
        (4_500, 989, 19.1102),
        (4_500, 989.4, 19.1025),
        (9_400, 989, 39.9191),
        (9_419.0, 989, 40.0),
        (4_500, 1_979, 9.5503),
    ],
)
def test_the_worked_example_without_attention(
    tokens_per_s: float, peak: float, percent: float
) -> None:
    found = at_rate(SEED, tokens_per_s, peak)
    assert 100 * found["mfu"] == pytest.approx(percent, abs=0.5e-4 if percent != 40 else 2e-4)
    assert found["flops_per_token"] == 4.2e10
    assert found["attention_flops_per_token"] == 0
    assert found["convention"] == "6N, no attention, N = 7.00e9"
    assert found["hfu"] == found["mfu"]


@pytest.mark.parametrize(
    ("attention", "length", "flops", "slow", "fast"),
    [
        ("full", 4096, 4.8442450944e10, 22.0416, 46.0424),
        ("causal", 4096, 4.5221225472e10, 20.5759, 42.9807),
        ("full", 2048, 4.5221225472e10, 20.5759, 42.9807),
    ],
)
def test_the_worked_example_with_attention(
    attention: str, length: int, flops: float, slow: float, fast: float
) -> None:
    model = SEED | {"layers": 32, "hidden": 4096, "seq_len": length, "attention": attention}
    for rate, percent in ((4_500, slow), (9_400, fast)):
        found = at_rate(model, rate, 989)
        assert found["flops_per_token"] == flops
        assert 100 * found["mfu"] == pytest.approx(percent, abs=1e-4)


def test_every_convention_stands_beside_the_stated_one() -> None:
    model = SEED | {"layers": 32, "hidden": 4096, "seq_len": 4096, "attention": "causal"}
    found = at_rate(model, 4_500, 989)
    shown = {row["attention"]: round(100 * row["mfu"], 1) for row in found["readings"]}
    assert shown == {"none": 19.1, "causal": 20.6, "full": 22.0}
    text = text_of(found, "attention")
    assert "A = 3.22e9" in text
    assert all(part in text for part in ("none 19.1 %", "causal 20.6 %", "full 22.0 %"))


def test_llama_3_counted_from_its_dimensions() -> None:
    counted = count(LLAMA_8B)
    assert counted is not None
    assert (counted.matrices, counted.total) == (7_504_658_432, 8_030_261_248)
    flops = training_flops(LLAMA_8B)
    assert flops.params == 7_504_658_432
    assert flops.attention == pytest.approx(6.442451e9, rel=1e-6)
    assert flops.model == pytest.approx(5.147040e10, rel=1e-6)
    large = count(LLAMA_405B)
    assert large is not None
    assert large.total == 405_853_388_800
    assert training_flops(LLAMA_405B).model == pytest.approx(2.523956e12, rel=1e-6)


def test_gpt_3_counted_from_its_dimensions() -> None:
    """Two feed-forward matrices where the block is four times as wide."""
    counted = count({"layers": 96, "hidden": 12288, "heads": 96, "vocab": 50257})
    assert counted is not None
    assert counted.matrices == 96 * 12 * 12288**2 + 12288 * 50257
    gated = count({"layers": 96, "hidden": 12288, "vocab": 50257, "ffn_matrices": 3})
    assert gated is not None
    assert gated.matrices - counted.matrices == 96 * 4 * 12288**2


@pytest.mark.parametrize(("tflops", "percent"), [(430, 43.5), (400, 40.4), (380, 38.4)])
def test_llama_3_paper(tflops: float, percent: float) -> None:
    rate = tflops * 1e12 / 2.523956e12
    found = at_rate(LLAMA_405B | {"world_size": 1}, rate, 989)
    assert 100 * found["mfu"] == pytest.approx(percent, abs=0.05)


@pytest.mark.parametrize(
    ("params", "layers", "hidden", "length", "rate", "mfu", "hfu"),
    [
        (6_658_859_008, 32, 4096, 2048, 9_670, 42.20, None),
        (64_862_437_376, 80, 8192, 2048, 1_007, 41.25, 55.0),
        (6_918_905_856, 32, 4096, 65_536, 1_956, 28.59, 38.13),
    ],
)
def test_llm_foundry(
    params: int, layers: int, hidden: int, length: int, rate: float, mfu: float, hfu: float | None
) -> None:
    """Published with a peak of 989.5 and cut token rates: 0.03 points are theirs."""
    model = SEED | {
        "params": params, "layers": layers, "hidden": hidden, "seq_len": length,
        "attention": "full", "recompute": "none" if hfu is None else "full",
    }  # fmt: skip
    found = at_rate(model, rate, 989)
    assert 100 * found["mfu"] == pytest.approx(mfu, abs=0.03)
    if hfu is not None:
        assert 100 * found["hfu"] == pytest.approx(hfu, abs=0.03)


@pytest.mark.parametrize(("attention", "percent"), [("full", 46.23), ("none", 45.73)])
def test_palm(attention: str, percent: float) -> None:
    """Heads of 256 are narrower together than the model: H·d, not hidden."""
    model = SEED | {
        "params": 540e9, "layers": 118, "hidden": 18432, "heads": 48, "head_dim": 256,
        "seq_len": 2048, "attention": attention, "world_size": 6144, "tokens_per_step": 238_300,
    }  # fmt: skip
    found = run(model, 275)
    assert 100 * found["mfu"] == pytest.approx(percent, abs=0.05)


@pytest.mark.parametrize(
    ("hidden", "layers", "ratio", "mfu", "hfu"),
    [
        (25_600, 128, 1.01314, 56.3, 57.0),
        (6_144, 48, 1.0519, 41.5, 43.7),
        (12_288, 96, 1.0269, 51.4, 52.8),
    ],
)
def test_korthikanti_selective_recomputation(
    hidden: int, layers: int, ratio: float, mfu: float, hfu: float
) -> None:
    model = {
        "layers": layers, "hidden": hidden, "vocab": 51_200, "seq_len": 2048, "dtype": "bf16",
        "attention": "full", "recompute": "selective",
    }  # fmt: skip
    flops = training_flops(model)
    assert flops.model is not None
    paper = 72 * layers * hidden**2 * (1 + 2048 / (6 * hidden) + 51_200 / (12 * hidden * layers))
    assert flops.model == pytest.approx(paper, rel=1e-12)
    assert flops.korthikanti is not None
    assert flops.korthikanti / flops.model == pytest.approx(ratio, abs=5e-5)
    assert mfu * flops.korthikanti / flops.model == pytest.approx(hfu, abs=0.1)


def test_selective_recomputation_by_direct_count() -> None:
    model = {
        "layers": 128, "hidden": 25_600, "vocab": 51_200, "seq_len": 2048, "dtype": "bf16",
        "attention": "full", "recompute": "selective",
    }  # fmt: skip
    flops = training_flops(model)
    assert flops.hardware is not None
    assert flops.model is not None
    assert 56.3 * flops.hardware / flops.model == pytest.approx(56.55, abs=0.005)


def test_some_layers_recomputed() -> None:
    model = SEED | {"layers": 32, "recompute": {"layers": 8}}
    found = at_rate(model, 4_500, 989)
    assert found["hfu"] == pytest.approx(found["mfu"] * (1 + 8 / 96), abs=1e-6)
    none = at_rate(SEED | {"recompute": {"layers": 8}}, 4_500, 989)
    assert (none["hfu"], none["mfu"]) == (None, found["mfu"])
    assert verdicts(none)["recompute"] == "unknown"
    more = at_rate(SEED | {"layers": 4, "recompute": {"layers": 8}}, 4_500, 989)
    assert more["hfu"] is None


# Peaks


@pytest.mark.parametrize(
    ("name", "device", "bf16"),
    [
        ("NVIDIA H100 80GB HBM3", "H100 SXM", 989.4),
        ("NVIDIA H100 PCIe", "H100 PCIe", 756),
        ("NVIDIA H100 NVL", "H100 NVL", 835),
        ("NVIDIA H200", "H200 SXM", 989.4),
        ("NVIDIA H200 NVL", "H200 NVL", 836),
        ("NVIDIA GH200 480GB", "GH200", 990),
        ("NVIDIA GH200 144G HBM3e", "GH200", 990),
        ("NVIDIA GH200 120GB", "GH200", 990),
        ("NVIDIA H20", "H20", 148),
        ("NVIDIA H20-3e", "H20", 148),
        ("NVIDIA B200", "B200", 2250),
        ("NVIDIA GB200", "GB200", 2500),
        ("NVIDIA GB300", "GB300", 2500),
        ("NVIDIA B300 SXM6 AC", "B300", 2250),
        ("NVIDIA A100-SXM4-40GB", "A100 SXM", 312),
        ("NVIDIA A100-SXM4-80GB", "A100 SXM", 312),
        ("A100-SXM4-40GB", "A100 SXM", 312),
        ("NVIDIA A100-PCIE-40GB", "A100 PCIe", 312),
        ("NVIDIA A100 80GB PCIe", "A100 PCIe", 312),
        ("NVIDIA A10", "A10", 125),
        ("NVIDIA A10G", "A10G", 70),
        ("NVIDIA A30", "A30", 165),
        ("NVIDIA A40", "A40", 149.7),
        ("NVIDIA L4", "L4", 121),
        ("NVIDIA L40", "L40", 181),
        ("NVIDIA L40S", "L40S", 362),
        ("NVIDIA RTX A6000", "RTX A6000", 154.8),
        ("NVIDIA GeForce RTX 4090", "RTX 4090", 165),
        ("GeForce RTX 3090", "RTX 3090", 71),
        ("nvidia h100 80gb hbm3", "H100 SXM", 989.4),
    ],
)
def test_peaks_by_name(name: str, device: str, bf16: float) -> None:
    row, is_slice = find_row(name)
    assert row is not None
    assert (row.device, is_slice) == (device, False)
    assert find_peak([Device(name)], "bf16", None).flops == bf16 * 1e12


@pytest.mark.parametrize(
    ("name", "fp16"),
    [
        ("Tesla V100-SXM2-32GB", 125),
        ("Tesla V100-SXM3-32GB", 125),
        ("Tesla V100-PCIE-16GB", 112),
        ("Tesla V100S-PCIE-32GB", 130),
        ("Tesla T4", 65),
    ],
)
def test_devices_without_bf16_have_no_bf16_peak(name: str, fp16: float) -> None:
    assert find_peak([Device(name)], "fp16", None).flops == fp16 * 1e12
    peak = find_peak([Device(name)], "bf16", None)
    assert peak.flops is None
    assert "bf16" in peak.source


@pytest.mark.parametrize(
    "name",
    [
        None, "", "NVIDIA", "NVIDIA GB999", "NVIDIA H1000", "NVIDIA H100X",
        "NVIDIA GeForce RTX 3080", "NVIDIA GeForce RTX 4090 Laptop GPU",
        "NVIDIA GeForce RTX 4090 D",
        "NVIDIA RTX 6000 Ada",
        "NVIDIA GeForce RTX 3090 Ti", "NVIDIA A100-SXM-64GB", "NVIDIA A100X", "NVIDIA A40-48Q",
        "GRID A100-40C", "NVIDIA GB10", "AMD Instinct MI300X", "NVIDIA L40G", "NVIDIA H100 H200",
        "NVIDIA RTX 5000 Ada Generation Laptop GPU", "Tesla V100-FHHL-16GB", "<script>", "H100\n",
        "NVIDIA B200 NVL72 something",
    ],
)  # fmt: skip
def test_unknown_devices_have_no_peak(name: str | None) -> None:
    peak = find_peak([Device(name, 132)], "bf16", None)
    if name == "H100\n":  # blank space around a name is not part of it
        assert peak.flops == 989.4e12
    else:
        assert peak.flops is None


def test_the_table_is_dense_and_every_name_fits_one_row() -> None:
    rows = table()
    assert len({row.device for row in rows}) == len(rows)
    for row in rows:
        flops = row.tflops
        assert row.sure in {"high", "medium", "low"}
        # Dense throughput doubles, about, with each halving of the format.
        for wide, narrow in (("tf32", "bf16"), ("bf16", "fp8")):
            if wide in flops and narrow in flops:
                assert 1.9 <= flops[narrow] / flops[wide] <= 2.1, row.device
        assert flops.get("bf16", flops["fp16"]) == flops["fp16"]
    names = ("H100 PCIe", "H100 NVL", "H200 NVL", "GH200 480GB", "L40S", "A10G", "V100S-PCIE-32GB")
    for name in names:
        plain = name.lower().replace("-", " ")
        assert sum(bool(row.names.fullmatch(plain)) for row in rows) == 1, name


def test_a_mig_slice_has_its_share_of_the_peak() -> None:
    peak = find_peak([Device("NVIDIA H200 MIG 3g.71gb", 60)], "bf16", None)
    assert peak.flops == pytest.approx(989.4e12 * 60 / 132)
    assert "60 of 132 SMs" in peak.source
    for sm_count in (None, 132, 200):
        assert find_peak([Device("NVIDIA H200 MIG 3g.71gb", sm_count)], "bf16", None).flops is None
    given = find_peak([Device("NVIDIA H200 MIG 3g.71gb", None)], "bf16", 400)
    assert given.flops == 400e12


def test_different_devices_are_averaged_and_told() -> None:
    devices = (Device("NVIDIA H100 PCIe", 114), Device(H100, 132))
    peak = find_peak(devices, "bf16", None)
    assert peak.flops == pytest.approx((756e12 + 989.4e12) / 2)
    assert "H100 PCIe" in peak.source
    assert "H100 SXM" in peak.source
    assert find_peak((*devices, Device("NVIDIA GB999")), "bf16", None).flops is None
    assert (
        verdicts(run(SEED | {"tokens_per_step": 4_500}, devices=devices))["device"] == "suspicious"
    )


# M20 and its variants, on the section


M20 = {"flops_per_token": 0.4 * 989e12 / 1_000, "tokens_per_step": 1_000, "world_size": 1}
M20 |= {"dtype": "bf16", "attention": "none"}


def test_m20_right_peak() -> None:
    found = run(M20)
    assert found["status"] == "ok"
    assert found["mfu"] == pytest.approx(0.4 * 989 / 989.4, abs=1e-6)
    assert found["peak_flops"] == 989.4e12
    assert found["peak_source"] == "table: H100 SXM"
    assert run(M20, 989)["mfu"] == 0.4
    assert set(verdicts(found).values()) <= {"ok", "unknown"}


@pytest.mark.parametrize(
    ("device", "why"),
    [(Device("NVIDIA GB999", 132), "GB999"), (Device(None), "does not say which GPU")],
)
def test_m20_unknown_device_is_not_guessed(device: Device, why: str) -> None:
    found = run(M20, devices=(device,))
    assert (found["status"], found["mfu"], found["hfu"]) == ("withheld", None, None)
    assert (found["peak_flops"], found["peak_source"]) == (None, None)
    assert why in found["reason"]
    assert "peak_tflops" in found["reason"]
    assert found["tokens_per_s_per_gpu"] == 1_000
    given = run(M20, 989, devices=(device,))
    assert given["mfu"] == 0.4
    assert verdicts(given)["peak"] == "unknown"
    assert given["peak_source"] == "[gpu] peak_tflops"


def test_m20_pcie_has_its_own_peak() -> None:
    found = run(M20, devices=(Device("NVIDIA H100 PCIe", 114),))
    assert found["mfu"] == pytest.approx(0.4 * 989 / 756, abs=1e-6)
    assert verdicts(found)["device"] == "ok"
    odd = run(M20, devices=(Device("NVIDIA H100 PCIe", 132),))
    assert verdicts(odd)["device"] == "suspicious"


def test_m20_above_the_peak_is_withheld() -> None:
    found = run(M20, 312)
    assert (found["status"], found["mfu"], found["waterfall"]) == ("withheld", None, [])
    assert verdicts(found)["plausible"] == "wrong"
    for word in ("126.8 %", "peak_tflops", "tokens_per_step", "world_size", "flops_per_token"):
        assert word in found["reason"]


def test_m20_sparse_peak_is_flagged() -> None:
    found = run(M20, 1_979)
    assert found["mfu"] == pytest.approx(0.2, abs=2e-4)
    assert verdicts(found)["peak"] == "suspicious"
    assert "sparse" in text_of(found, "peak")
    assert verdicts(run(M20, 989))["peak"] == "ok"
    assert "0.315 times" in text_of(run(M20 | {"tokens_per_step": 500}, 312), "peak")


def test_m20_without_the_model_s_size_there_is_no_mfu() -> None:
    tokens_only = {"tokens_per_step": 1_000, "seq_len": 100, "world_size": 2}
    found = run(tokens_only)
    assert (found["status"], found["mfu"]) == ("not_applicable", None)
    assert "params" in found["reason"]
    assert (found["tokens_per_s_per_gpu"], found["samples_per_s_per_gpu"]) == (500, 5)
    nothing = section(None, {"peak_tflops": 989}, measured())
    assert (nothing["status"], nothing["mfu"], nothing["checks"]) == ("not_applicable", None, [])
    for word in ("[model]", "params", "tokens_per_step", "world_size", "dtype", "attention"):
        assert word in nothing["reason"]


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"flops_per_token": 0, "layers": 32, "hidden": 4096}, "vocab"),
        ({"flops_per_token": 0, "params": 7e9, "attention": "full", "layers": 32}, "seq_len"),
        ({"tokens_per_step": 0}, "tokens_per_step"),
        ({"world_size": 0}, "world_size"),
        ({"dtype": "fp4"}, "fp4"),
        ({"tokens_per_step": 10**30, "flops_per_token": 1e30, "step_time_ms": 1e-300}, "range"),
    ],
)
def test_what_is_lacking_is_named(change: dict[str, Any], word: str) -> None:
    found = run(M20 | change)
    assert (found["status"], found["mfu"]) == ("withheld", None)
    assert word in found["reason"]


# Time


def test_no_steps_no_mfu_but_by_a_given_time() -> None:
    found = run(M20, period_ns=0, no_steps="no training steps were found")
    assert (found["status"], found["mfu"], found["tokens_per_s_per_gpu"]) == (
        "withheld",
        None,
        None,
    )
    assert "step_time_ms" in found["reason"]
    given = run(M20 | {"step_time_ms": 1_000}, 989, period_ns=0, no_steps="no training steps")
    assert (given["mfu"], given["step_source"], given["step_ns"]) == (0.4, "given", 10**9)
    assert given["waterfall"] == []


def test_an_unprofiled_step_time_goes_first_and_the_difference_is_told() -> None:
    model = M20 | {"step_time_ms": 800}
    found = run(model, 989)
    assert found["mfu"] == 0.5
    assert (found["step_source"], found["step_ns"]) == ("given", 800_000_000)
    assert verdicts(found)["step_time"] == "suspicious"
    assert "+25.0 %" in text_of(found, "step_time")
    assert found["waterfall"] == []  # shares of a step that the number is not about
    close = run(M20 | {"step_time_ms": 990}, 989)
    assert verdicts(close)["step_time"] == "ok"
    assert fsum(bar["frac"] for bar in close["waterfall"]) == 1


@pytest.mark.parametrize(
    ("change", "name", "verdict"),
    [
        ({"confidence": 0.49}, "steps", "suspicious"),
        ({"kept": 2}, "steps", "unknown"),
        ({}, "steps", "ok"),
        ({"spread_frac": 0.02}, "steps", "suspicious"),
        ({"median_ns": 900_000_000}, "steps", "ok"),
        ({"ranks": (7,)}, "world_size", "suspicious"),
        ({"world": 8}, "world_size", "suspicious"),
        ({"world": 1}, "world_size", "ok"),
        ({"captured": 3}, "world_size", "suspicious"),
        ({"captured": 1}, "world_size", "ok"),
        ({"captured": None}, "world_size", "unknown"),
    ],
)
def test_measurements_that_speak_against_the_inputs(
    change: dict[str, Any], name: str, verdict: str
) -> None:
    found = run(M20, **change)
    first = next(check["verdict"] for check in found["checks"] if check["id"] == name)
    assert first == verdict
    assert found["status"] == "ok"


@pytest.mark.parametrize(
    ("change", "name", "verdict"),
    [
        ({"params": 7e9}, "params", "unknown"),
        ({"params": 7_504_658_432}, "params", "ok"),
        ({"params": 8_030_261_248}, "params", "suspicious"),
        ({"params": 9e9}, "params", "suspicious"),
        ({"params": 47e9, "moe_active_params": 13e9}, "params", "ok"),
        ({"params": 1e9, "moe_active_params": 13e9}, "params", "suspicious"),
        ({"params": 1e9, "flops_per_token": 8e9}, "params", "suspicious"),
        ({"params": 1e9, "flops_per_token": 2e9}, "params", "suspicious"),
        ({"params": 1e9, "flops_per_token": 6.4e9}, "params", "ok"),
        ({"seq_len": 0}, "tokens", "unknown"),
        ({"tokens_per_step": 8193}, "tokens", "suspicious"),
        ({"tokens_per_step": 16384}, "tokens", "ok"),
        ({"tokens_per_step": 16384, "global_batch": 2}, "tokens", "ok"),
        ({"tokens_per_step": 15000, "global_batch": 2}, "tokens", "ok"),
        ({"tokens_per_step": 8192, "global_batch": 16}, "tokens", "suspicious"),
        ({"tokens_per_step": 32768, "global_batch": 2}, "tokens", "suspicious"),
    ],
)
def test_inputs_that_speak_against_each_other(
    change: dict[str, Any], name: str, verdict: str
) -> None:
    model = LLAMA_8B | {"world_size": 64, "tokens_per_step": 8192, "attention": "none"} | change
    if name == "params" and change.get("params") == 7e9:
        model |= {"ffn": 0}
    assert verdicts(run(model))[name] == verdict


def test_moe_counts_the_experts_a_token_visits() -> None:
    model = SEED | {"params": 46.7e9, "moe_active_params": 12.9e9, "tokens_per_step": 4_500}
    assert run(model)["flops_per_token"] == 6 * 12.9e9


def test_global_batch_stands_for_tokens() -> None:
    model = SEED | {"global_batch": 16, "seq_len": 4096, "world_size": 8}
    found = run(model)
    assert found["tokens_per_s_per_gpu"] == 16 * 4096 / 8
    assert found["samples_per_s_per_gpu"] == 2
    assert found["mfu"] == pytest.approx(6 * 7e9 * 16 * 4096 / 8 / 989.4e12, abs=1e-6)


def test_a_mean_far_from_the_median_is_told() -> None:
    assert "+25.0 %" in text_of(run(M20, median_ns=800_000_000), "steps")
    assert "median" not in text_of(run(M20), "steps")


# Kernels


def kernel(name: str, work_ns: int, kind: str = "gemm") -> dict[str, Any]:
    return {"name": name, "class": kind, "work_ns": work_ns}


@pytest.mark.parametrize(
    ("dtype", "kernels", "verdict"),
    [
        ("bf16", [kernel("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n", 9)], "ok"),
        (
            "bf16",
            [kernel("cutlass::e4m3_gemm", 3), kernel("ampere_bf16_s16816gemm", 7)],
            "suspicious",
        ),
        ("fp8", [kernel("ampere_bf16_s16816gemm", 7)], "suspicious"),
        ("fp8", [kernel("sm90_xmma_gemm_e4m3e4m3_bf16", 7)], "ok"),
        ("bf16", [kernel("ampere_sgemm_128x64_tn", 7)], "suspicious"),
        ("bf16", [kernel("my_gemm", 7)], "unknown"),
        ("bf16", [kernel("cast_to_fp8", 90, "quant"), kernel("nvjet_tst_128x256", 7)], "ok"),
        ("bf16", [kernel("copy_fp32", 90, "copy")], None),
    ],
)
def test_names_of_kernels_may_speak_against_the_dtype(
    dtype: str, kernels: list[dict[str, Any]], verdict: str | None
) -> None:
    found = run(M20 | {"dtype": dtype}, kernels=kernels)
    assert verdicts(found).get("dtype") == verdict


@pytest.mark.parametrize(
    ("tensor", "compute", "verdict", "bars"),
    [(0.9, 1.0, "ok", True), (0.3, 1.0, "suspicious", False), (0.2, 0.3, "wrong", False)],
)
def test_arithmetic_needs_kernels_that_run(
    tensor: float, compute: float, verdict: str, bars: bool
) -> None:
    window = 4 * 10**9
    busy = round(compute * window)
    buckets = dict.fromkeys(BUCKETS, 0)
    buckets |= {"window_ns": window, "compute_only": busy, "idle": window - busy}
    found = run(M20, buckets=buckets, tensor_ns=round(tensor * window))
    assert verdicts(found)["tensor_time"] == verdict
    assert bool(found["waterfall"]) is bars
    assert found["mfu"] is not None


# From the documents


def test_tensor_time_is_that_of_four_classes() -> None:
    document = documents.full()
    compute = {name: 10**place for place, name in enumerate(CLASSES)}
    document["causes"]["compute"] = compute
    expected = sum(compute[name] for name in ("gemm", "attention", "conv", "fused_comm_gemm"))
    assert of_lane(document, None, None).tensor_ns == expected


def test_a_job_adds_its_lanes_and_takes_the_median_period() -> None:
    made = [documents.full() for _ in range(3)]
    for place, document in enumerate(made):
        document["steps"]["period_ns"] = (100, 400, 300)[place]
        document["steps"]["confidence"] = 0.9 - place / 10
        document["lane"]["rank"] = place
    one, job = of_lane(made[0], 8, 3), of_job(made, 8)
    assert job.period_ns == 300
    assert job.confidence == pytest.approx(0.7)
    assert job.tensor_ns == 3 * one.tensor_ns
    assert job.buckets == {name: 3 * ns for name, ns in one.buckets.items()}
    assert (job.ranks, job.world, len(job.devices)) == ([0, 1, 2], 8, 3)


@pytest.mark.parametrize(
    ("source", "confidence", "steps"),
    [("none", 0.1, False), ("sequence", 0.4, False), ("sequence", 0.6, True), ("user", 0.3, True)],
)
def test_a_repeating_unit_is_no_step(source: str, confidence: float, steps: bool) -> None:
    document = documents.full()
    document["steps"] |= {"source": source, "confidence": confidence}
    found = of_lane(document, None, None)
    assert (found.period_ns is not None) is steps
    assert (found.no_steps is None) is steps


def test_what_would_give_a_step_time_is_what_would_help() -> None:
    document = documents.full()
    document["steps"] |= {"source": "none"}
    assert "--step-range" in lane_section(document, M20, {}, None, None)["reason"]
    document["steps"]["chosen"] = True
    reason = lane_section(document, M20, {}, None, None)["reason"]
    assert "--step-range" not in reason
    assert "choose --from and --to around several, or give step_time_ms" in reason


def test_several_jobs_have_no_mfu_together() -> None:
    found = job_section([documents.full()], SEED, {}, None, "two world sizes")
    assert (found["status"], found["mfu"]) == ("withheld", None)
    assert "two world sizes" in found["reason"]


# Properties


def test_the_waterfall_sums_to_one_and_no_bar_is_made_up() -> None:
    draw = random.Random(3)  # noqa: S311
    made = 0
    for _ in range(500):
        parts = {bucket: draw.randrange(10 ** draw.randrange(1, 11)) for bucket in BUCKETS}
        window = sum(parts.values())
        compute = parts["compute_only"] + parts["compute_comm_overlap"]
        tensor = draw.randint(0, compute)
        bubble = draw.randint(0, parts["exposed_comm"])
        hfu = draw.random() * draw.choice([0.3, 1.0])
        mfu = hfu * draw.choice([1.0, 0.75, draw.random()])
        lane = measured(buckets=parts | {"window_ns": window}, tensor_ns=tensor, bubble_ns=bubble)
        bars = waterfall(mfu, hfu, lane)
        if not bars:
            assert hfu * window > tensor - 1
            continue
        made += 1
        shares = {bar["name"]: bar["frac"] for bar in bars}
        assert tuple(shares) == NAMES
        assert sum(round(frac * 10**6) for frac in shares.values()) == 10**6
        assert all(frac == round(frac, 6) >= 0 for frac in shares.values())
        exact = {
            "mfu": mfu,
            "recompute": hfu - mfu,
            "tensor_inefficiency": tensor / window - hfu,
            "non_tensor_compute": (compute - tensor) / window,
            "exposed_comm": (parts["exposed_comm"] - bubble) / window,
            "pipeline_bubble": bubble / window,
            "exposed_mem": parts["exposed_mem"] / window,
            "graph_opaque": parts["graph_opaque"] / window,
            "idle": parts["idle"] / window,
        }
        # One rounding to whole ns, one to millionths.
        assert all(abs(shares[n] - exact[n]) <= 1e-6 + 1 / window for n in exact)
    assert made > 50


def test_hfu_is_never_below_mfu() -> None:
    draw = random.Random(4)  # noqa: S311
    for _ in range(300):
        layers = draw.randint(1, 128)
        model = SEED | {
            "params": draw.uniform(1e6, 1e12),
            "layers": layers,
            "hidden": draw.randint(64, 20_000),
            "seq_len": draw.randint(1, 10**6),
            "tokens_per_step": draw.randint(1, 10**7),
            "attention": draw.choice(["none", "causal", "full"]),
            "recompute": draw.choice(
                ["none", "selective", "full", {"layers": draw.randint(0, layers)}]
            ),
        }
        flops = training_flops(model)
        assert flops.model is not None
        assert flops.hardware is not None
        assert flops.model <= flops.hardware <= 4 / 3 * flops.model * (1 + 1e-12)
        assert flops.readings["none"] <= flops.readings["causal"] <= flops.readings["full"]
        found = run(model)
        if found["status"] == "ok":
            assert 0 <= found["mfu"] <= found["hfu"]


def test_twice_the_time_is_half_the_rate() -> None:
    once, twice = run(M20), run(M20, period_ns=2 * 10**9)
    assert twice["mfu"] == pytest.approx(once["mfu"] / 2, abs=1e-6)
    assert twice["tokens_per_s_per_gpu"] == once["tokens_per_s_per_gpu"] / 2
