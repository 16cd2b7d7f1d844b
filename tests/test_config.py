"""nsysflow.toml and the command line: what is understood, and what is said about the rest."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from nsysflow.config import load_settings
from nsysflow.errors import UsageError
from nsysflow.settings import Settings

MODEL = """
[model]
params = 7e9
layers = 32
hidden = 4096
seq_len = 4096
tokens_per_step = 1048576
world_size = 64
dtype = "bf16"
attention = "none"
recompute = "none"
moe_active_params = 0
step_time_ms = 0
[gpu]
peak_tflops = 989
[job]
checkpoint_every = 0
eval_every = 0
"""


def load(folder: Path, toml: str | None = None, **given: Any) -> tuple[Settings, dict[str, Any]]:
    if toml is not None:
        (folder / "nsysflow.toml").write_text(toml, encoding="utf-8")
    return load_settings(folder, given)


def fails(folder: Path, toml: str | None = None, **given: Any) -> str:
    with pytest.raises(UsageError) as caught:
        load(folder, toml, **given)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_nothing_said(tmp_path: Path) -> None:
    assert load(tmp_path) == (Settings(), {})
    assert load(tmp_path, jobs=None, config=None) == (Settings(), {})
    assert load(tmp_path, "") == (Settings(), {})


def test_the_tables_of_the_file(tmp_path: Path) -> None:
    settings, rest = load(
        tmp_path,
        MODEL
        + r"""
[kernels]
gemm = "my_gemm"
comm = ["^p2p_", "(?i)ring"]
[patterns]
checkpoint = "save_all"
loader = ["fetch", "read"]
[ranks]
regex = 'w(\d+)'
[ranks.map]
"b.sqlite" = 1
"a.sqlite#77" = 0
[steps]
range = "^iter"
from = 1
to = 2.5
""",
    )
    assert settings.model == tomllib.loads(MODEL)["model"]
    assert (settings.gpu, settings.job) == (
        {"peak_tflops": 989},
        {"checkpoint_every": 0, "eval_every": 0},
    )
    assert settings.kernel_rules == (("my_gemm", "gemm"), ("^p2p_", "comm"), ("(?i)ring", "comm"))
    assert settings.cause_patterns == (
        ("checkpoint", "save_all"),
        ("loader", "fetch"),
        ("loader", "read"),
    )
    assert settings.rank_map == (("a.sqlite#77", 0), ("b.sqlite", 1))
    assert (settings.rank_regex, settings.step_range) == (r"w(\d+)", "^iter")
    assert (settings.window_from_s, settings.window_to_s) == (1.0, 2.5)
    assert rest == {}


def test_the_layout_of_the_job_is_counts_of_ranks(tmp_path: Path) -> None:
    settings, _ = load(tmp_path, "[job]\ntp = 2\npp = 4\nep = 1\n")
    assert settings.job == {"tp": 2, "pp": 4, "ep": 1}
    for wrong in ("tp = 0", "cp = 1.5", 'dp = "4"', "tensor = 2"):
        with pytest.raises(UsageError):
            load(tmp_path, f"[job]\n{wrong}\n")


@pytest.mark.parametrize("key", ["tokens_per_step", "seq_len", "world_size", "params", "layers"])
def test_a_size_of_zero_is_a_slip_not_an_absent_one(tmp_path: Path, key: str) -> None:
    refused = fails(tmp_path, f'[model]\ndtype = "bf16"\nattention = "none"\n{key} = 0\n')
    assert f"[model] {key} is 0, which cannot be; leave it out" in refused


def test_every_option_can_stand_in_the_file(tmp_path: Path) -> None:
    (tmp_path / "map.toml").write_text('"a" = 3\n', encoding="utf-8")
    settings, rest = load(
        tmp_path,
        r"""
jobs = 4
memory-limit = "4GB"
scheduler = "tcp://h:1"
nsys = "/opt/nsys"
redact = false
rank_map = "map.toml"
rank-regex = '(\d)'
step_range = "s"
from = -1
to = 0
timeline_steps = [3, "5-7"]
""",
    )
    assert rest == {
        "jobs": 4,
        "memory_limit": 4 * 10**9,
        "scheduler": "tcp://h:1",
        "nsys": "/opt/nsys",
    }
    assert settings == Settings(
        redact=False,
        rank_map=(("a", 3),),
        rank_regex=r"(\d)",
        step_range="s",
        window_from_s=-1.0,
        window_to_s=0.0,
        timeline_steps=(3, 5, 6, 7),
    )


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ('"4GB"', 4 * 10**9),
        ('"512MiB"', 512 * 2**20),
        ('"1.5 g"', 1_500_000_000),
        ("1000000", 1_000_000),
        ('"2Ti"', 2 * 2**40),
    ],
)
def test_sizes(tmp_path: Path, text: str, size: int) -> None:
    assert load(tmp_path, f"memory_limit = {text}")[1] == {"memory_limit": size}


def test_the_command_line_goes_before_the_file(tmp_path: Path) -> None:
    other = tmp_path / "cli.txt"
    other.write_text("x.sqlite 7\n", encoding="utf-8")
    settings, rest = load(
        tmp_path,
        'jobs = 4\nscheduler = "tcp://h:1"\nnsys = "a"\nredact = true\n'
        '[ranks.map]\n"a" = 1\n[steps]\nrange = "s"\nfrom = 1\nto = 9\n',
        jobs=2,
        scheduler_file=Path("f.json"),
        rank_map=other,
        window_to_s=5.0,
        no_redact=True,
        memory_limit=1000,
    )
    assert rest == {"jobs": 2, "scheduler_file": Path("f.json"), "nsys": "a", "memory_limit": 1000}
    assert settings == Settings(
        rank_map=(("x.sqlite", 7),),
        step_range="s",
        window_from_s=1.0,
        window_to_s=5.0,
        redact=False,
    )


def test_another_file_instead_of_the_one_in_the_run(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    named = tmp_path / "elsewhere" / "my.toml"
    named.write_text('[ranks]\nmap = "m.txt"\n', encoding="utf-8")
    (tmp_path / "elsewhere" / "m.txt").write_text("a 1", encoding="utf-8")
    settings, rest = load(tmp_path, "jobs = 4", config=named)
    assert (settings.rank_map, rest) == ((("a", 1),), {})


@pytest.mark.parametrize("wrapped", [True, False])
def test_a_model_file_replaces_the_model(tmp_path: Path, wrapped: bool) -> None:
    named = tmp_path / "model.toml"
    text = 'params = 1e9\ndtype = "fp8"\nattention = "causal"\nrecompute = {layers = 8}\n'
    named.write_text(
        f"[model]\n{text}[gpu]\npeak_tflops = 9.5\n" if wrapped else text, encoding="utf-8"
    )
    settings, _ = load(tmp_path, MODEL, model=named)
    assert settings.model == {
        "params": 1_000_000_000,
        "dtype": "fp8",
        "attention": "causal",
        "recompute": {"layers": 8},
    }
    assert settings.gpu == {"peak_tflops": 9.5 if wrapped else 989}


def test_what_a_model_file_replaces_is_not_read(tmp_path: Path) -> None:
    named = tmp_path / "model.toml"
    named.write_text(MODEL.partition("[gpu]")[0], encoding="utf-8")
    wrong = '[model]\ndtpye = "bf16"\n'
    settings, _ = load(tmp_path, wrong + "[job]\ntp = 2", model=named)
    assert (settings.model or {})["dtype"] == "bf16"
    assert settings.job == {"tp": 2}
    assert "dtpye" in fails(tmp_path, wrong)
    assert "peak" in fails(tmp_path, f"{wrong}[gpu]\npeak = 1", model=named)
    assert "modle" in fails(tmp_path, "[modle]\n", model=named)


def test_a_model_file_whose_table_is_a_value(tmp_path: Path) -> None:
    named = tmp_path / "model.toml"
    named.write_text("model = 3\n", encoding="utf-8")
    assert fails(tmp_path, model=named).startswith("model.toml: model is 3, not a table; write")


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        ("jbos = 4", ("nsysflow.toml", "'jbos'", "jobs")),
        ("[modle]\nparams = 1", ("'modle'", "model")),
        ('[model]\ndtpye = "bf16"', ("nsysflow.toml", "[model]", "'dtpye'", "dtype")),
        ('[model]\nattention = "none"', ("[model]", "lacks dtype", "bf16")),
        ('[model]\ndtype = "bf16"', ("[model]", "lacks attention", "causal")),
        ('[model]\ndtype = "bf17"\nattention = "none"', ("[model] dtype", "'bf17'", "bf16")),
        ('[model]\ndtype = "bf16"\nattention = true', ("[model] attention", "True")),
        ("[model]\nlayers = 1.5", ("[model] layers", "1.5", "whole")),
        ("[model]\nlayers = true", ("[model] layers", "a number")),
        ('[model]\nparams = "7B"', ("[model] params", "'7B'", "a number")),
        ("[model]\nparams = -1", ("[model] params", "at least 0")),
        ("[model]\nparams = nan", ("[model] params", "a number")),
        (f"[model]\nparams = {10**400}", ("[model] params", "a number")),
        ('[model]\nrecompute = "some"', ("[model] recompute", "'some'", "selective")),
        ("[model]\nrecompute = {layer = 8}", ("[model] recompute", "'layer'", "layers")),
        ("[model]\nrecompute = 8", ("[model] recompute", "8", "selective")),
        ("model = 3", ("nsysflow.toml: model is 3, not a table; write [model] and", "params = ")),
        ("job = 3", ("nsysflow.toml: job is 3, not a table; write [job] and", "tp = 8", "is jobs")),
        ("gpu = [1]", ("gpu is [1], not a table; write [gpu]", "peak_tflops = 989")),
        ('kernels = "x"', ("kernels is 'x', not a table; write [kernels]", 'gemm = "')),
        ("[[patterns]]", ("patterns is [{}], not a table; write [patterns]", 'checkpoint = "')),
        ("ranks = true", ("ranks is True, not a table; write [ranks]", 'regex = "')),
        ("steps = 5", ("steps is 5, not a table; write [steps]", 'range = "')),
        ("[gpu]\npeak = 1", ("[gpu]", "'peak'", "peak_tflops")),
        ("[gpu]\npeak_tflops = 0", ("[gpu] peak_tflops is 0", "leave it out")),
        ("[gpu]\npeak_tflops = 989e12", ("[gpu] peak_tflops", "TFLOP/s")),
        ("[job]\neval_every = -1", ("[job] eval_every", "at least 0")),
        ('[kernels]\ngemmm = "x"', ("[kernels]", "'gemmm'", "gemm")),
        ('[kernels]\ngemm = "("', ("[kernels] gemm", "RE2")),
        ('[kernels]\ngemm = ["a", 3]', ("[kernels] gemm", "3", "a text")),
        ('[patterns]\nloder = "x"', ("[patterns]", "'loder'", "loader")),
        ('[patterns]\neval = "(?=x)"', ("[patterns] eval", "RE2", "look-ahead")),
        ('[ranks]\nregex = "rank"', ("[ranks] regex", "captures nothing")),
        ('[ranks]\nregex = "(?:rank)[(]"', ("[ranks] regex", "captures nothing")),
        ("[ranks]\nmap = 3", ("[ranks] map", "a text")),
        ('[ranks]\nmap = "none.toml"', ("none.toml", "cannot be read", "No such file")),
        ('[ranks.map]\n"a" = "x"', ("[ranks] map", "'a'", "a number")),
        ('[ranks.map]\n"a" = -1', ("[ranks] map", "'a'", "at least 0")),
        ("[steps]\nfrom = 3\nto = 2", ("3 s to 2 s", "empty")),
        ('[steps]\nrange = ""', ("[steps] range", "a text")),
        ("[steps]\nfrom = 1\n", None),
        ("from = 1\n[steps]\nfrom = 1\n", ("[steps]", "window_from_s", "twice")),
        ("jobs = 0", ("jobs", "at least 1")),
        ('jobs = "4"', ("jobs", "a number")),
        ('memory_limit = "lots"', ("memory_limit", "'lots'", "8GB")),
        ("memory_limit = 0", ("memory_limit", "above zero")),
        ("redact = 1", ("redact", "true or false")),
        ('scheduler = "a"\nscheduler_file = "b"', ("both",)),
        ('timeline_steps = "1,x"', ("timeline_steps", "'x'")),
        ("timeline_steps = 3", ("timeline_steps", "list")),
        ('timeline_steps = "2,8-5"', ("timeline_steps", "'8-5'", "5-8")),
        ('timeline_steps = "0-99999999"', ("timeline_steps", "too many")),
        ("jobs = \nnsys = 1", ("nsysflow.toml", "no TOML", "line 1")),
        ("a = " + "[" * 5000, ("nsysflow.toml", "no TOML")),
        (f"jobs = {'9' * 5000}", ("nsysflow.toml", "no TOML")),
        ('rank_map = "a\\u0000b"', ("rank_map", "a path")),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    tmp_path: Path, toml: str, words: tuple[str, ...] | None
) -> None:
    if words is None:
        load(tmp_path, toml)
        return
    said = fails(tmp_path, toml)
    for word in words:
        assert word in said


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "nsysflow.toml").write_bytes(b"jobs = 4 # \xff")
    assert "no UTF-8" in fails(tmp_path)
    (tmp_path / "nsysflow.toml").unlink()
    (tmp_path / "nsysflow.toml").mkdir()
    assert "directory" in fails(tmp_path)
    (tmp_path / "nsysflow.toml").rmdir()
    assert "No such file" in fails(tmp_path, model=tmp_path / "none.toml")


def test_options_are_named_as_the_user_wrote_them(tmp_path: Path) -> None:
    assert "--rank-regex" in fails(tmp_path, rank_regex="(")
    assert "--step-range" in fails(tmp_path, step_range="(?<=a)")
    assert "--from" in fails(tmp_path, window_from_s=float("nan"))
    assert "--step-range" in fails(tmp_path, step_range="\udcff(")


@pytest.mark.parametrize(
    "text",
    [
        '"d/a b.sqlite" = 1\n"c#7" = 0\n',
        "c#7 = 0\n'd/a b.sqlite' = 1\n",
        "# who is who\nd/a b.sqlite 1\nc#7\t0\n\n",
        "file,rank\nd/a b.sqlite,1\nc#7,0\n",
        '{"d/a b.sqlite": 1, "c#7": 0}',
        '[ranks.map]\n"d/a b.sqlite" = 1\n"c#7" = 0\n',
        "\ufeffd/a b.sqlite 1\r\nc#7 0\r\n",
        "d/a b.sqlite = 1\nc#7 = 0",
        '"d/a b.sqlite",1\n"c#7",0',
    ],
)
def test_forms_of_a_rank_map(tmp_path: Path, text: str) -> None:
    path = tmp_path / "map"
    path.write_text(text, encoding="utf-8")
    settings, _ = load(tmp_path, rank_map=path)
    assert settings.rank_map == (("c#7", 0), ("d/a b.sqlite", 1))


def test_a_bare_name_with_dots_in_a_rank_map(tmp_path: Path) -> None:
    path = tmp_path / "map.toml"
    path.write_text("rank0.sqlite = 0\nrank0.1.sqlite = 2\nx = 3\n", encoding="utf-8")
    assert load(tmp_path, rank_map=path)[0].rank_map == (
        ("rank0.1.sqlite", 2),
        ("rank0.sqlite", 0),
        ("x", 3),
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a.sqlite\n", ("line 1", "'a.sqlite'")),
        ("a 1\nb x\n", ("line 2", "'b x'")),
        ("a 1\nb 2\na 3\n", ("line 3", "twice")),
        ("a 99999999\n", ("line 1", "no rank")),
        ('"a" = true\n', ("'a'", "a number")),
        ("a = 1.5", ("'a'", "whole")),
    ],
)
def test_a_rank_map_that_is_wrong(tmp_path: Path, text: str, words: tuple[str, ...]) -> None:
    path = tmp_path / "map"
    path.write_text(text, encoding="utf-8")
    said = fails(tmp_path, rank_map=path)
    for word in (*words, str(path)):
        assert word in said
