"""The schemas of the result documents: samples are valid, pages read nothing else."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from nsysflow.render import render_index, render_rank
from tests.support import documents
from tests.support.hard_documents import hostile, huge
from tests.support.job_documents import job
from tests.support.schemas import check, schema

RANKS = {
    "full": documents.full,
    "minimal": documents.minimal,
    "hostile": hostile,
    "huge": lambda: huge(100, 40),
}
JOBS = (1, 8, 64, 1_024)


@pytest.mark.parametrize("name", RANKS)
def test_sample_ranks_are_valid(name: str) -> None:
    check(RANKS[name](), "rank-1")


@pytest.mark.parametrize("count", JOBS)
def test_sample_jobs_are_valid(count: int) -> None:
    check(job(count), "result-1")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda d: d.update(extra=1),
        lambda d: d["lane"].update(user="jdoe"),
        lambda d: d["buckets"].pop("idle"),
        lambda d: d["buckets"].update(idle=-1),
        lambda d: d["gaps"].pop("top"),
        lambda d: d["os_calls"].pop("reason"),
        lambda d: d["timeline"]["steps"][0]["rows"][0]["marks"][0].append(1),
        lambda d: d["findings"][0].update(bound_kind="about"),
    ],
)
def test_the_schema_refuses_what_the_contract_does_not_name(spoil: Any) -> None:
    document = documents.full()
    spoil(document)
    with pytest.raises(jsonschema.ValidationError):
        check(document, "rank-1")


class Watched(dict[str, Any]):
    """A document that notes which keys are asked for, as paths; positions in lists are ``*``."""

    def __init__(
        self, value: dict[str, Any], path: tuple[str, ...], asked: set[tuple[str, ...]]
    ) -> None:
        """Watch everything below as well."""
        super().__init__({key: watch(item, (*path, key), asked) for key, item in value.items()})
        self.path, self.asked = path, asked

    def __getitem__(self, key: str) -> Any:
        """Note the key."""
        self.asked.add((*self.path, key))
        return super().__getitem__(key)

    def get(self, key: Any, default: Any = None) -> Any:
        if isinstance(key, str):
            self.asked.add((*self.path, key))
        return super().get(key, default)

    def __contains__(self, key: object) -> bool:
        """Note the key."""
        self.asked.add((*self.path, str(key)))
        return super().__contains__(key)


def watch(value: Any, path: tuple[str, ...], asked: set[tuple[str, ...]]) -> Any:
    if isinstance(value, dict):
        return Watched(value, path, asked)
    if isinstance(value, list):
        return [watch(item, (*path, "*"), asked) for item in value]
    return value


def names(node: Any, path: tuple[str, ...], root: dict[str, Any]) -> bool:
    """Whether a schema names a path."""
    if not isinstance(node, dict):
        return node is True and not path
    if "$ref" in node:
        node = root["$defs"][node["$ref"].rsplit("/", 1)[1]]
    below = [(branch, path) for branch in (node.get("then"), *node.get("oneOf", [])) if branch]
    if path:
        head, rest = path[0], path[1:]
        inner = node.get("items") if head == "*" else node.get("properties", {}).get(head)
        other = node.get("additionalProperties")
        below.append((inner if inner or not isinstance(other, dict) else other, rest))
    return not path or any(names(branch, rest, root) for branch, rest in below)


@pytest.mark.parametrize("name", ["full", "minimal", "hostile"])
def test_a_rank_page_reads_nothing_but_the_schema(name: str) -> None:
    asked: set[tuple[str, ...]] = set()
    render_rank(watch(RANKS[name](), (), asked))
    root = schema("rank-1")
    assert len(asked) > 100
    assert not names(root, ("lane", "user"), root)
    assert [path for path in sorted(asked) if not names(root, path, root)] == []


@pytest.mark.parametrize("count", [1, 8, 64])
def test_a_job_page_reads_nothing_but_the_schema(count: int) -> None:
    asked: set[tuple[str, ...]] = set()
    render_index(watch(job(count), (), asked), [documents.full()])
    root = schema("result-1")
    assert len(asked) > 50
    assert [path for path in sorted(asked) if not names(root, path, root)] == []
