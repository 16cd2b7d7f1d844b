"""What a kernel is, told from its name: real names and their siblings, order, hostile names."""

from __future__ import annotations

import os
import re
import sqlite3
from pathlib import Path

import duckdb
import pytest

from nsysflow import model
from nsysflow.convert.kernel_names import create_kernel_name, shipped_rules
from nsysflow.errors import UsageError
from nsysflow.settings import Settings

ROOT = Path(__file__).parent.parent
TRACES = Path(os.environ.get("NSYSFLOW_TRACES", ROOT.parent / "shared" / "traces"))
KNOWN = [
    tuple(line.split("\t"))
    for line in (ROOT / "fixtures" / "kernel_names.tsv").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]
GEMM = "sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64"


def classify(names: list[str], settings: Settings | None = None) -> list[dict[str, object]]:
    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE _kernel_string(name_id BIGINT, name VARCHAR, short_name VARCHAR)"
    )
    connection.execute(
        "INSERT INTO _kernel_string SELECT unnest(?::BIGINT[]), unnest(?::VARCHAR[]), 'short'",
        [list(range(len(names))), names],
    )
    create_kernel_name(connection, settings or Settings())
    found = connection.execute("SELECT * FROM kernel_name ORDER BY name_id")
    columns = [column[0] for column in found.description]
    return [dict(zip(columns, row, strict=True)) for row in found.fetchall()]


def test_every_known_name_has_its_class_and_collective() -> None:
    found = classify([name for name, _, _ in KNOWN])
    wrong = [
        (name, expected, op, row["class"], row["op"])
        for (name, expected, op), row in zip(KNOWN, found, strict=True)
        if row["class"] != expected or (op and row["op"] != op)
    ]
    assert not wrong
    assert {row["class"] for row in found} == {"comm", *model.CLASSES}


def test_spelling_of_the_demangler_changes_nothing() -> None:
    names = [name for name, _, _ in KNOWN]
    respelt = [
        re.sub(r"(?<=[<, ])(\d+)(?=[,>])", r"(int)\1", name)
        .replace("(anonymous namespace)", "<unnamed>")
        .replace("{lambda()#1}", "[lambda() (instance 1)]")
        for name in names
    ]
    assert respelt != names
    for one, other in zip(classify(names), classify(respelt), strict=True):
        assert (one["class"], one["op"]) == (other["class"], other["op"]), other["name"]


def test_columns_ranks_and_names_are_the_store_s() -> None:
    found = classify([name for name, _, _ in KNOWN])
    assert list(found[0]) == [
        "name_id", "name", "short_name", "comm", "class", "class_rank", "tensor_core", "op",
    ]  # fmt: skip
    for (name, _, _), row in zip(KNOWN, found, strict=True):
        assert row["name"] == name
        assert row["comm"] is (row["class"] == "comm")
        rank = None if row["comm"] else model.CLASSES.index(str(row["class"]))
        assert row["class_rank"] == rank
        assert (row["op"] in model.COLLECTIVE_OPS) is row["comm"]
        assert row["tensor_core"] in {"yes", "no", "unknown"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ampere_sgemm_128x64_tn", "no"),
        ("void cutlass::Kernel<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>(x)", "no"),
        ("void gemv2T_kernel_val<int, int, double, double>(x)", "no"),
        ("void gemmSN_NN_kernel<float, 256, 4>(x)", "no"),
        ("void cublasLt::splitKreduce_kernel<32, 16, int, float, float>(x)", "no"),
        ("void cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16>(x)", "unknown"),
        ("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize32x32x8_ffma_kernel__5x_cublas", "no"),
        ("nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_TNN", "yes"),
        ("ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn", "yes"),
        ("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_16x6_nt_align4>(x)", "yes"),
        ("volta_h884gemm_128x128_ldg8_nn", "yes"),
        ("void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128>>(x)", "yes"),
        ("triton_tem_fused_addmm_gelu_3", "unknown"),
        ("void vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::Half>>", "no"),
        ("my_kernel", "unknown"),
    ],
)  # fmt: skip
def test_tensor_cores(name: str, expected: str) -> None:
    assert classify([name])[0]["tensor_core"] == expected


def test_user_rules_go_first_and_in_order() -> None:
    rules = (("^my_", "norm"), ("my_gemm", "gemm"), ("xmma_gemm", "comm"), ("at_the_end$", "moe"))
    names = ["my_gemm", GEMM, "gemm", "x" * 3000 + "at_the_end"]
    found = classify(names, Settings(kernel_rules=rules))
    assert [row["class"] for row in found] == ["norm", "comm", "gemm", "moe"]
    assert found[1]["class_rank"] is None
    assert found[1]["op"] == "generic"


@pytest.mark.parametrize(
    ("rule", "words"), [(("(", "gemm"), "valid pattern"), (("gemm", "gemmm"), "no class 'gemmm'")]
)
def test_a_wrong_user_rule_is_one_line(rule: tuple[str, str], words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        classify(["gemm"], Settings(kernel_rules=(rule,)))
    assert "\n" not in str(caught.value)


def test_no_shipped_rule_is_dead() -> None:
    """Every rule takes at least one known name that no earlier rule took."""
    connection = duckdb.connect()
    left = [name for name, _, _ in KNOWN]
    for pattern, kind in shipped_rules():
        query = (
            "SELECT name FROM (SELECT unnest(?::VARCHAR[]) AS name) WHERE regexp_matches(name, ?)"
        )
        taken = {row[0] for row in connection.execute(query, [left, pattern]).fetchall()}
        assert taken, f"no known name for the rule {pattern!r} of {kind}"
        left = [name for name in left if name not in taken]


def test_hostile_names_are_text() -> None:
    names = [
        "",
        "'; DROP TABLE kernel_name; --",
        "</script>",
        "%s{}\\",
        "\u202egemm\x00",
        "(" * 10_000,
    ]
    found = classify(names)
    assert [row["name"] for row in found] == names
    assert [row["class"] for row in found] == ["other"] * 4 + ["gemm", "other"]


def test_what_follows_the_functor_does_not_decide() -> None:
    name = "void user::stencil<float>(" + "at::Tensor const&, " * 60 + "cublasLtMatmul, ncclComm*)"
    assert classify([name])[0]["class"] == "other"


@pytest.mark.slow
def test_real_traces_leave_nothing_plain_in_other() -> None:
    if not TRACES.is_dir():
        pytest.skip(f"no real traces at {TRACES}; set NSYSFLOW_TRACES")
    names = sorted({name for path in TRACES.rglob("*.sqlite") for name in kernel_names(path)})
    assert len(names) > 100
    found = classify(names)
    left = [str(row["name"]) for row in found if row["class"] == "other"]
    # A hydrodynamics code is the only one whose kernels have no machine-learning class.
    assert [name for name in left if "clover::" not in name] == []
    assert sum(row["comm"] is True for row in found) == sum("nccl" in name[:8] for name in names)


def kernel_names(path: Path) -> list[str]:
    connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    try:
        rows = connection.execute(
            "SELECT DISTINCT value FROM StringIds"
            " JOIN CUPTI_ACTIVITY_KIND_KERNEL ON id = demangledName"
        ).fetchall()
    except sqlite3.Error:
        rows = []
    connection.close()
    return [row[0] for row in rows]
