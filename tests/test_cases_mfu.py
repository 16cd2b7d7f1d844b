"""Public problem reports on MFU, from an export to the documents and the page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from nsysflow.config import load_settings
from nsysflow.errors import UsageError
from tests.support.command import Report, read_json, report
from tests.support.export import Export, ms, us
from tests.support.schemas import check

STEP = 1_000
GEMM = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_execute_kernel"
H100 = "NVIDIA H100 80GB HBM3"
MODEL = f"""[model]
flops_per_token = {0.4 * 989e12 / 1_000_000}
tokens_per_step = 1_000_000
world_size = 1
dtype = "bf16"
attention = "none"
"""


def training(gpu: str | None, step_ms: float = STEP, ranges: bool = True) -> Export:
    """Six steps; in each a matrix kernel runs for 80 % and nothing for the rest."""
    export = Export()
    if gpu is not None:
        export.gpu(0, gpu, "GPU-11111111-2222-3333-4444-555555555555")
    for k in range(6):
        start = ms(10 + k * step_ms)
        if ranges:
            export.nvtx(f"step {k}", start - us(50), start + ms(step_ms) - us(60))
        launch = (start - us(30), start - us(20))
        export.kernel(GEMM, start, start + ms(0.8 * step_ms), launch=launch)
    return export


def reported(
    tmp_path: Path, toml: str | None, *exports: Export, options: tuple[object, ...] = ()
) -> Report:
    for rank, export in enumerate(exports):
        export.write_sqlite(tmp_path / "run" / f"rank{rank}.sqlite")
    if toml is not None:
        (tmp_path / "run" / "nsysflow.toml").write_text(toml, encoding="utf-8")
    made = report(tmp_path / "run", tmp_path / "out", *options)
    assert made.ended.code == 0, made.ended.err
    for document in made.lanes.values():
        check(document, "rank-1")
    check(made.result, "result-1")
    return made


def wrong(section: dict[str, Any]) -> list[str]:
    return [c["id"] for c in section["checks"] if c["verdict"] in {"wrong", "suspicious"}]


def test_m20_mfu_against_the_right_peak(tmp_path: Path) -> None:
    model = MODEL.replace("1_000_000", "2_000_000").replace("world_size = 1", "world_size = 2")
    toml = model + "[gpu]\npeak_tflops = 989\n"
    made = reported(tmp_path, toml, training(H100), training(H100))
    for document in made.lanes.values():
        mfu = document["mfu"]
        assert document["steps"]["period_ns"] == ms(STEP)
        assert (mfu["status"], mfu["mfu"], mfu["hfu"]) == ("ok", 0.4, 0.4)
        assert mfu["tokens_per_s_per_gpu"] == 1_000_000
        assert mfu["step_ns"] == ms(STEP)
        assert wrong(mfu) == []
        bars = {bar["name"]: bar["frac"] for bar in mfu["waterfall"]}
        assert bars.pop("mfu") == 0.4
        assert bars.pop("tensor_inefficiency") == 0.4
        assert bars.pop("idle") == 0.2
        assert set(bars.values()) == {0}
    assert made.result["mfu"]["mfu"] == 0.4
    assert [row["mfu"] for row in made.result["ranks"]] == [0.4, 0.4]
    for page in made.pages.values():
        assert "989" in page
        assert "40.0" in page


@pytest.mark.parametrize(("gpu", "expected"), [(H100, 0.399838), ("NVIDIA H100 PCIe", 0.52328)])
def test_m20_peak_from_the_device_name(tmp_path: Path, gpu: str, expected: float) -> None:
    made = reported(tmp_path, MODEL, training(gpu))
    assert made.lane["mfu"]["mfu"] == made.result["mfu"]["mfu"] == expected
    assert made.lane["mfu"]["peak_source"].startswith("table: H100")


@pytest.mark.parametrize("gpu", ["NVIDIA GB999", None])
def test_m20_no_peak_no_mfu(tmp_path: Path, gpu: str | None) -> None:
    made = reported(tmp_path, MODEL, training(gpu))
    for section in (made.lane["mfu"], made.result["mfu"]):
        assert (section["status"], section["mfu"], section["hfu"]) == ("withheld", None, None)
        assert "peak_tflops" in section["reason"]
        assert section["tokens_per_s_per_gpu"] == 1_000_000
    page = made.pages["rank-0000.html"]
    assert "give [gpu] peak_tflops" in re.sub("<[^>]*>", "", page)
    assert "tok/s" in page


def test_m20_no_model(tmp_path: Path) -> None:
    made = reported(tmp_path, None, training(H100))
    assert made.lane["mfu"]["status"] == "not_applicable"
    assert "nsysflow.toml has no [model]" in made.lane["mfu"]["reason"]
    assert "nsysflow.toml has no [model]" in made.pages["rank-0000.html"]


def test_a_model_file_on_the_command_line_goes_first(tmp_path: Path) -> None:
    named = tmp_path / "model.toml"
    named.write_text(MODEL + "[gpu]\npeak_tflops = 989\n", encoding="utf-8")
    other = MODEL.replace("1_000_000", "500_000")
    made = reported(tmp_path, other, training(H100), options=("--model", named))
    assert made.lane["mfu"]["mfu"] == 0.4


def test_m20_more_than_the_peak(tmp_path: Path) -> None:
    made = reported(tmp_path, MODEL + "[gpu]\npeak_tflops = 312\n", training(H100))
    mfu = made.lane["mfu"]
    assert (mfu["status"], mfu["mfu"]) == ("withheld", None)
    assert "plausible" in wrong(mfu)
    assert "don’t fit together" in made.pages["rank-0000.html"]


def test_without_steps_only_a_given_time_makes_mfu(tmp_path: Path) -> None:
    bare = training(H100, ranges=False)
    # One kernel name with nothing else around it is no step of any kind.
    made = reported(tmp_path / "none", MODEL, bare)
    assert made.lane["steps"]["source"] == "none"
    assert (made.lane["mfu"]["status"], made.lane["mfu"]["mfu"]) == ("withheld", None)
    assert "step_time_ms" in made.lane["mfu"]["reason"]
    given = reported(
        tmp_path / "given", MODEL.replace("[model]", "[model]\nstep_time_ms = 800"), bare
    )
    assert given.lane["mfu"]["mfu"] == pytest.approx(0.5 * 989 / 989.4, abs=1e-6)


def test_a_rank_counts_the_gpus_of_the_job_not_only_its_own(tmp_path: Path) -> None:
    made = reported(tmp_path, MODEL, training(H100), training(H100))
    for document in (*made.lanes.values(), made.result):
        assert "world_size" in wrong(document["mfu"])


def test_ranks_with_steps_of_their_own_length_make_a_job_by_the_median(tmp_path: Path) -> None:
    exports = [training(H100, step_ms) for step_ms in (1_000, 1_020, 1_500)]
    toml = MODEL.replace("world_size = 1", "world_size = 3")
    made = reported(tmp_path, toml, *exports)
    shares = [row["mfu"] for row in made.result["ranks"]]
    assert sorted(shares)[1] == made.result["mfu"]["mfu"]
    assert made.result["mfu"]["step_ns"] == ms(1_020)
    assert "steps" in wrong(made.result["mfu"])


def test_tokens_per_second_need_no_size_of_the_model(tmp_path: Path) -> None:
    toml = "[model]\ntokens_per_step = 4096\nseq_len = 1024\nworld_size = 1\n"
    mfu = reported(tmp_path, toml, training(H100)).lane["mfu"]
    assert (mfu["status"], mfu["mfu"], mfu["convention"]) == ("not_applicable", None, None)
    assert (mfu["tokens_per_s_per_gpu"], mfu["samples_per_s_per_gpu"]) == (4096, 4)


def test_a_model_with_a_size_must_say_dtype_and_attention(tmp_path: Path) -> None:
    for toml in ("params = 7e9", "tokens_per_step = 1\nlayers = 2", 'recompute = "none"', ""):
        (tmp_path / "nsysflow.toml").write_text(f"[model]\n{toml}\n", encoding="utf-8")
        with pytest.raises(UsageError, match="lacks dtype"):
            load_settings(tmp_path, {})


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("ffn_matrices = 4", ("ffn_matrices", "4")),
        ("params = 1e40", ("params", "1e+40")),
        ("tokens_per_step = 1e31", ("tokens_per_step",)),
    ],
)
def test_values_that_cannot_be(tmp_path: Path, line: str, words: tuple[str, ...]) -> None:
    text = f'[model]\n{line}\ndtype = "bf16"\nattention = "none"\n'
    (tmp_path / "nsysflow.toml").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        load_settings(tmp_path, {})
    assert all(word in str(caught.value) for word in words)


def test_the_demo_run_has_the_mfu_of_its_schedule(tmp_path: Path) -> None:
    from nsysflow.demo import make_run
    from nsysflow.demo.plan import Plan

    make_run(tmp_path / "run", Plan(ranks=2, kernels=4_000))
    made = report(tmp_path / "run", tmp_path / "out")
    truth = read_json(tmp_path / "run" / "truth.json")
    assert made.ended.code == 0
    assert len(made.lanes) == 2
    for row in truth["ranks"]:
        mfu = made.lanes[f"{row['rank']:04d}"]["mfu"]
        assert mfu["flops_per_token"] == truth["model"]["flops_per_token"]
        assert mfu["mfu"] == pytest.approx(row["mfu"], rel=0.02)
        assert mfu["tokens_per_s_per_gpu"] == pytest.approx(row["tokens_per_s_per_gpu"], rel=0.02)
    assert made.result["mfu"]["mfu"] == pytest.approx(truth["totals"]["mfu"], rel=0.02)
