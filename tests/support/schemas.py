"""The schema files of the result documents."""

from __future__ import annotations

import json
from typing import Any

import jsonschema

from nsysflow import resources


def schema(name: str) -> dict[str, Any]:
    """Return ``rank-1`` or ``result-1``."""
    text = resources.data("reports", "schema", f"{name}.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def check(document: dict[str, Any], name: str) -> None:
    """Raise jsonschema.ValidationError where a document breaks its schema."""
    jsonschema.Draft202012Validator(schema(name)).validate(document)
