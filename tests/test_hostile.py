"""Names that are HTML (R01) and secrets that travel (R02): what a trace says stays text."""

from __future__ import annotations

import base64
import gzip
import re
import zlib
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest

from tests.support.command import Report, report
from tests.support.export import Export, ms, us

if TYPE_CHECKING:
    from pathlib import Path

TEMPLATE = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::AUnaryFunctor<float>>(int)"
)
RANGES = (
    '</script><script>document.title="PWNED"</script>',
    "<img src=x onerror=alert(1)>",
    '"\' onmouseover="x',
    "{{ 7 * 7 }}{% raw %}",
    "<!-- --><![CDATA[ ]]>",
    "line\u2028separator",
    "\u202eright to left",
    "\N{FIRE} emoji",
    "javascript:alert(1)",
)


class Page(HTMLParser):
    """What a browser would see: elements, attributes, text outside of scripts and styles."""

    def __init__(self, text: str) -> None:
        """Parse a whole page."""
        super().__init__(convert_charrefs=True)
        self.tags: dict[str, int] = {}
        self.attributes: list[tuple[str, str | None]] = []
        self.text: list[str] = []
        self.inside: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Count an element."""
        self.tags[tag] = self.tags.get(tag, 0) + 1
        self.attributes += attrs
        if tag in {"script", "style"}:
            self.inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Leave a script or style."""
        if self.inside and self.inside[-1] == tag:
            self.inside.pop()

    def handle_data(self, data: str) -> None:
        """Collect visible text."""
        if not self.inside:
            self.text.append(data)


def named(kernel: str, ranges: tuple[str, ...], host: str) -> Export:
    export = Export()
    export.kernel(kernel, ms(1), ms(90), launch=(us(10), us(20)))
    for index, text in enumerate(ranges):
        export.nvtx(text, us(index), ms(100) - us(index))
    export.system("Hostname", host)
    export.gpu(0, f"NVIDIA {host}", f"GPU-{host}")
    export.process(host)
    export.thread(host)
    export.diagnostic(host)
    return export


def made_of(folder: Path, export: Export, file: str) -> Report:
    export.write_sqlite(folder / "run" / file)
    made = report(folder / "run", folder / "out", "--no-redact")
    assert made.ended.code == 0, made.ended.err
    return made


def pages(made: Report) -> dict[bool, Page]:
    """The index page and the rank page."""
    return {name == "index.html": Page(text) for name, text in made.pages.items()}


def test_names_from_the_trace_stay_text(tmp_path: Path) -> None:
    plain = tuple(f"range {chr(97 + index)}" for index in range(len(RANGES)))
    tame = made_of(tmp_path / "tame", named("gemm", plain, "node"), "rank0.sqlite")
    wild = made_of(tmp_path / "wild", named(TEMPLATE, RANGES, "<u>node</u>"), "<u>rank0<u>.sqlite")
    for index, page in pages(wild).items():
        calm = pages(tame)[index]
        assert page.tags.get("script") == calm.tags.get("script")
        for tag in ("img", "u", "iframe", "base", "form", "object", "link"):
            assert page.tags.get(tag, 0) == calm.tags.get(tag, 0), tag
        handlers = [name for name, _ in page.attributes if name.startswith("on")]
        assert handlers == []
        assert "style" not in dict(page.attributes)
        urls = [value or "" for name, value in page.attributes if name in {"href", "src"}]
        assert not [url for url in urls if re.match(r"(?i)\s*(https?:|//|javascript:)", url)]
    rank_page = pages(wild)[False]
    assert TEMPLATE in "".join(rank_page.text)
    assert "<img src=x onerror=alert(1)>" in "".join(rank_page.text)


def test_every_script_ends_where_it_should(tmp_path: Path) -> None:
    wild = made_of(tmp_path, named(TEMPLATE, RANGES, "<u>node</u>"), "rank0.sqlite")
    for text in wild.pages.values():
        for body in re.findall(r"<script[^>]*>(.*?)</script", text, re.DOTALL):
            assert "PWNED" not in body or "<" not in body.split("PWNED")[0][-40:]


SECRETS = {
    "AKIAIOSFODNN7EXAMPLE": "key AKIAIOSFODNN7EXAMPLE",
    "hf_FAKEFAKEFAKEFAKEFAKEFAKEFAKEFAKE": "token hf_FAKEFAKEFAKEFAKEFAKEFAKEFAKEFAKE",
    "ghp_FAKEFAKEFAKEFAKEFAKEFAKEFAKEFAKEFAKE": "ghp_FAKEFAKEFAKEFAKEFAKEFAKEFAKEFAKEFAKE",
    "sk-FAKEFAKEFAKEFAKEFAKEFAKE": "python train.py --api-key=sk-FAKEFAKEFAKEFAKEFAKEFAKE",
    "p4ssw0rd9": "postgres://u:p4ssw0rd9@h/db",
    "jdoe": "/home/jdoe/x/train.py",
}
HOST = "very-secret-host-17"


def secret_export() -> Export:
    export = Export()
    export.kernel("gemm", ms(1), ms(90), launch=(us(10), us(20)))
    for index, text in enumerate(SECRETS.values()):
        export.capture("PROCESS_0:ENVIRONMENT_VARIABLE", f'X{index}="{text}"')
        export.capture("PROCESS_0:COMMAND", text)
        export.system("DeviceEnvironment", f"A=1;B={text};C=2")
        export.process(text, pid=100 + index)
        export.thread(text, tid=100 + index)
        content = {"filenameId": export.string(text), "contentId": export.string(f"out {text}")}
        export.row("ProcessStreams", globalPid=0, **content)
        export.nvtx(text, us(index), ms(100) - us(index))
        export.diagnostic(text, severity=3)
        export.os_call(text, us(index), us(index + 1))
        export.kernel(f"kernel {text}", ms(91 + index), ms(92 + index))
    export.system("Hostname", HOST)
    export.meta("EXPORT_HOST", HOST)
    export.meta("EXPORT_USER", "jdoe")
    return export


def readable(content: bytes) -> list[bytes]:
    """A file and everything packed inside it."""
    found = [content]
    for blob in re.findall(rb"[A-Za-z0-9+/]{40,}={0,2}", content):
        unpacked = base64.b64decode(blob + b"=" * (-len(blob) % 4), validate=False)
        found.append(unpacked)
        for unpack in (gzip.decompress, zlib.decompress):
            try:
                found.append(unpack(unpacked))
            except (OSError, EOFError, zlib.error):
                continue
    return found


@pytest.mark.parametrize("file", ["rank0.sqlite", "jdoe_rank0.sqlite"])
def test_secrets_do_not_travel(tmp_path: Path, file: str) -> None:
    secret_export().write_sqlite(tmp_path / "run" / file)
    made = report(tmp_path / "run", tmp_path / "out")
    assert made.ended.code == 0, made.ended.err
    written = [
        path
        for path in (tmp_path / "out").rglob("*")
        if path.is_file() and "store" not in path.relative_to(tmp_path / "out").parts
    ]
    assert {path.suffix for path in written} >= {".html", ".json"}
    hidden = [*SECRETS, HOST]
    if "jdoe" in file:
        hidden.remove("jdoe")  # the user named the file so; a file's name is not masked
    for path in written:
        for text in readable(path.read_bytes()):
            for secret in hidden:
                assert secret.encode() not in text, (path.name, secret)
    for stream in (made.ended.out, made.ended.err):
        assert not [secret for secret in hidden if secret in stream]
    (page,) = [text for name, text in made.pages.items() if name != "index.html"]
    assert "\u2039masked\u203a" in page
    assert "host-1" in made.lane["lane"]["host"]


def test_hosts_are_named_when_asked(tmp_path: Path) -> None:
    secret_export().write_sqlite(tmp_path / "run" / "rank0.sqlite")
    made = report(tmp_path / "run", tmp_path / "out", "--no-redact")
    assert made.lane["lane"]["host"] == HOST
