"""Secrets and people's names do not travel; everything else arrives unchanged."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from pathlib import Path

import pytest

from nsysflow.mask import MASK, Masker, masked
from tests.support.command import traces_folder

A = "AbCd1234" * 5
SECRETS = [
    # (text, what must be gone, what must stay)
    ("AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE", ""),
    ("step-AKIAIOSFODNN7EXAMPLE_done", "AKIAIOSFODNN7EXAMPLE", "step-"),
    ("hf_" + "FAKE" * 8, "FAKE", ""),
    ("load_hf_" + "aB3" * 11 + "x end", "aB3", "load_"),
    ("ghp_" + "FAKE" * 9, "FAKE", ""),
    ("gho_16C7e42F292c6912E7", "16C7", ""),
    ("github_pat_11ABCDEFG0_" + A, "11ABCDEFG0", ""),
    ("glpat-" + A[:20], A[:20], ""),
    ("python t.py --api-key=sk-FAKEFAKE --lr 0.1", "FAKE", "--lr 0.1"),
    ("python t.py --api-key hunter2 --lr 0.1", "hunter2", "--lr 0.1"),
    ("--wandb_api_key='a b c' x", "a b c", "--wandb_api_key"),
    ("--token FAKETOKEN --steps 3", "FAKETOKEN", "--steps 3"),
    ("sk-" + A, A, ""),
    ("sk-ant-api03-" + A, A, ""),
    ("sk-proj-" + A + "-" + A, A, ""),
    ("use xoxb-123456789012-abcdefABCDEF now", "123456789012", "use"),
    ("Authorization: Bearer " + A, A, "Authorization"),
    ("curl -H 'authorization: Basic dXNlcjpwYXNz'", "dXNlcjpwYXNz", "curl"),
    ("bearer " + A, A, ""),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.sig_X-1", "eyJzdWIi", ""),
    ("postgres://u:p4ss@h/db", "p4ss", "@h/db"),
    ("https://tok3n@github.com/o/r", "tok3n", "github.com/o/r"),
    ("redis://:p4ss@h:6379/0", "p4ss", "h:6379/0"),
    ("https://hooks.slack.com/services/T000/B000/XXXX", "T000", "hooks.slack.com"),
    ("AIza" + "Sy0-_" * 7, "Sy0-_", ""),
    ("nvapi-" + A, A, ""),
    ("WANDB_API_KEY=" + "0123456789abcdef0123" * 2, "0123456789abcdef", "WANDB_API_KEY"),
    ('WANDB_API_KEY="0123456789abcdef"', "0123456789abcdef", "WANDB_API_KEY"),
    ("wandb login " + "0123456789abcdef0123" * 2, "0123456789abcdef", "wandb login"),
    ("AWS_SECRET_ACCESS_KEY=wJalr/XUtn+FEMI", "wJalr", "AWS_SECRET_ACCESS_KEY"),
    ("PGPASSWORD=hunter2 psql", "hunter2", "psql"),
    ('{"password": "hunter2", "lr": 3}', "hunter2", '"lr": 3'),
    ("{'secret' : 'hunter2'}", "hunter2", "secret"),
    ("password: hunter2", "hunter2", "password"),
    ("HF_TOKEN=hf_short_but_named", "hf_short", "HF_TOKEN"),
    ("token=abcdefghijk&x=1", "abcdefghijk", "x=1"),
    ("token: Ab3dEf6hIj", "Ab3dEf6hIj", "token"),
    ('{"token":"Ab3dEf6hIj"}', "Ab3dEf6hIj", "token"),
    ("MYSQL_PWD=hunter2", "hunter2", "MYSQL_PWD"),
    ("db_pass=hunter2", "hunter2", "db_pass"),
    ("Cookie: session=hunter2; a=hunter2", "hunter2", "Cookie"),
    ("WANDB_API_KEY " + "0123456789abcdef0123" * 2, "0123456789abcdef", "WANDB_API_KEY"),
    ("https://s3/x?X-Amz-Signature=0123456789abcdef0123&a=1", "0123456789", "a=1"),
    ("-----BEGIN RSA PRIVATE KEY-----\nMIIE-abc\n-----END RSA PRIVATE KEY-----\nx", "MIIE", "\nx"),
    ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3Blb", "b3Blb", ""),
    ("/home/jdoe/x", "jdoe", "/x"),
    ("open('/home/jdoe/data/a.bin')", "jdoe", "/data/a.bin"),
    ("/mnt/nfs1/home/jdoe/x", "jdoe", "/x"),
    ("/global/homes/j/jdoe/x.py:12", "jdoe", "/x.py:12"),
    ("/Users/jdoe/x", "jdoe", "/x"),
    ("/users/jdoe/x", "jdoe", "/x"),
    ("ls ~jdoe/x", "jdoe", "/x"),
    ("/lustre/users/jdoe/x", "jdoe", "/x"),
    ("file=%2Fhome%2Fjdoe%2Fx", "jdoe", "%2Fx"),
    (r"\\nas01\home\jdoe\x", "jdoe", "nas01"),
    ("/root/x", "/root", "/x"),
    ("cd /root", "/root", "cd"),
    (r"C:\Users\John Doe\x", "John", "\\x"),
    (r"C:\\Users\\jdoe\\x", "jdoe", r"\\x"),
    ("c:/Users/jdoe", "jdoe", ""),
    ("USER=jdoe HOME=/home/jdoe", "jdoe", "HOME="),
    ("mail jane.doe+x@corp.example.com now", "jane", "now"),
]
HARMLESS = [
    "",
    "void at::native::vectorized_elementwise_kernel<4, at::native::AUnaryFunctor<float>>(int)",
    "_ZN7cutlass6KernelINS_4gemm6kernel4GemmINS1_11threadblock12MmaPipelinedEEEEvNT_6ParamsE",
    "task-scheduler-Main1 disk-cache-Write2 mask-AbCd1234AbCd",
    "sk-learn-pipeline-v2-forward",
    "hf_RotaryEmbeddingKernel hf_attention_forward_bf16_kernel",
    "xAKIAIOSFODNN7EXAMPLE",
    "num_tokens=4096 max_tokens: 4096 tokens_per_step=1048576 token=12345678",
    "token: attention_out next_token: generate",
    "token::dispatch(int) Secret::operator()(int) password::check",
    "--max-tokens 512 --tokenizer /data/tok --moe-token-dispatcher-type alltoall",
    "moe::token_dispatch_kernel<float>",
    "memcpy@GLIBC_2.2.5 pthread_cond_wait@@GLIBC_2.3.2 func@module.py ?f@Foo@@QEAAXXZ",
    "/usr/lib/x86_64/libcuda.so /opt/nvidia/nsight /data/homework/x /homeassistant/x /home",
    "/workspace/chroot/rootfs/x /var/rooted /x/root/y",
    "namespace::~Foo() ~/x a ~b",
    "http://example.org/a@b https://example.org:80/x",
    "forward pass: 3, key=5, keys: [1, 2]",
    "PWD=/data/x OLDPWD=/data fwd_pass=3 bypass=1 num_pass: 2 api_key_projection_kernel",
    "monkey=3 turkey: Anatolia12",
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<(unsigned long)4096>)",
    "C:/build/src/x.cu D:\\work\\x",
    "日本語 \u2039masked\u203a \u2028",
]


@pytest.mark.parametrize(("text", "gone", "kept"), SECRETS)
def test_secrets_go(text: str, gone: str, kept: str) -> None:
    masker = Masker()
    shown = masker.text(text)
    assert gone not in shown
    assert kept in shown
    assert MASK in shown
    assert masker.count >= 1
    assert Masker().text(shown) == shown


@pytest.mark.parametrize(("text", "gone", "kept"), SECRETS)
@pytest.mark.parametrize(
    "frame", ["a {} b", '"{}"', "({})", "<b>{}</b>", "x={}\ny", "[{}]", "日{}本"]
)
def test_secrets_go_wherever_they_stand(text: str, gone: str, kept: str, frame: str) -> None:
    shown = Masker().text(frame.replace("{}", text))
    assert gone not in shown
    assert kept in shown


@pytest.mark.parametrize("text", HARMLESS)
def test_the_rest_stays(text: str) -> None:
    masker = Masker()
    assert masker.text(text) == text
    assert masker.count == 0


def test_kernel_names_stay() -> None:
    table = Path(__file__).parents[1] / "fixtures" / "kernel_names.tsv"
    lines = table.read_text(encoding="utf-8").splitlines()
    names = [line.split("\t")[0] for line in lines if not line.startswith("#")]
    masker = Masker()
    assert [masker.text(name) for name in names] == names
    assert len(names) > 20


def test_documents_are_masked_through_and_through() -> None:
    key = "AKIAIOSFODNN7EXAMPLE"
    document = {
        "n": 1,
        "x": None,
        "ok": True,
        "f": 0.5,
        "name": f"a {key}",
        "list": [key, {"deep": (key, 2)}],
        key: 1,
        f"{key[:-1]}X": 2,
    }
    masker = Masker()
    shown = masked(document, masker)
    assert shown == {
        "n": 1,
        "x": None,
        "ok": True,
        "f": 0.5,
        "name": f"a {MASK}",
        "list": [MASK, {"deep": [MASK, 2]}],
        MASK: 1,
        f"{MASK} (2)": 2,
    }
    assert masker.count == 5
    assert document["name"] == f"a {key}"


def test_hosts_become_their_labels_but_words_stay() -> None:
    masker = Masker(
        {"node-17.cluster.org": "host-1", "modal": "host-2", "gpu9": "host-3", "shown01": "shown01"}
    )
    assert masker.text("Node-17 node-17.cluster.org node-171 xnode-17 modal gpu9 shown01") == (
        "host-1 host-1 node-171 xnode-17 modal gpu9 shown01"
    )


def _time(texts: list[str]) -> float:
    # Of the processor: other work on the machine is no fault of the patterns.
    masker, start = Masker(), time.process_time()
    for text in texts:
        masker.text(text)
    return time.process_time() - start


def test_twenty_thousand_long_names_take_seconds() -> None:
    name = "void cutlass::device_kernel<token_dispatch, keys, cute::tuple<C<128>, C<64>>>(P) " * 50
    assert _time([f"{name[:4090]}{n}" for n in range(2_000)]) < 4


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "A1",
        "-",
        "--a-",
        "sk-",
        "-eyJ",
        "eyJaaaaaaaaa.",
        "-----BEGIN PRIVATE KEY-----",
        "a@",
        "a.b@c.",
        "://",
        "a://b",
        "token",
        "token=",
        "password ",
        'password="',
        "/home",
        "/home/",
        "C:\\Users\\",
        "bearer ",
        "api_key",
        "secret: ",
        "~a",
        "xoxb-",
        "hf_A",
        "user=",
        "-a_",
        "'",
        "--token ",
        "login --a ",
        "a-1.",
        "authorization:",
        "_",
        "AKIA",
        "key-",
        "/users/",
        "sig=",
    ],
)
def test_no_text_makes_masking_slow(piece: str) -> None:
    short = (piece * 20_000)[:20_000]
    long = (piece * 80_000)[:80_000]
    _time([short])
    quick = min(_time([short]) for _ in range(3))
    # Four times the text: linear is a factor of 4, quadratic one of 16.
    assert min(_time([long]) for _ in range(3)) < max(0.25, 9 * quick)
    assert quick < 1


def test_names_of_real_traces_stay() -> None:
    texts: set[str] = set()
    for path in sorted(traces_folder().rglob("*.sqlite")):
        connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        with contextlib.suppress(sqlite3.Error):
            texts |= {value for (value,) in connection.execute("SELECT value FROM StringIds")}
        connection.close()
    # Whole environments, process output and source paths lie among the names.
    names = [text for text in texts if "\n" not in text and not text.startswith(("/", "{", "C:/"))]
    masker = Masker()
    changed = [name for name in names if masker.text(name) != name]
    assert len(names) > 3_000
    assert changed == []
