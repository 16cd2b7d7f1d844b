"""Model FLOPs of one training token: from what the user says about the model.

``F = 6 N + A``: N the parameters in matrix products, A the core attention under the convention the
user states. Forward and backward together, a multiplication and an addition counted as two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Model = Mapping[str, Any]

CONVENTIONS = ("none", "causal", "full")
# Core attention, forward and backward, per layer, head width and position.
_ATTENTION = {"none": 0, "causal": 6, "full": 12}
_ATTENTION_WORDS = {"none": "no attention", "causal": "causal attention", "full": "full attention"}
# Keys that describe the size of a model, each enough for some way to count it.
SIZES = ("params", "moe_active_params", "flops_per_token", "layers", "hidden", "ffn", "vocab")
_COUNTED = ("layers", "hidden", "vocab")


@dataclass(frozen=True)
class Count:
    """Parameters counted from dimensions: in matrix products, in the input embedding, in all."""

    matrices: int
    embedding: int
    total: int
    words: str


@dataclass(frozen=True)
class Flops:
    """FLOPs per token; what cannot be told is None, ``lacks`` says what would tell it.

    ``params`` is N as used, ``attention`` A as used (0 under ``none``), ``model`` their F,
    ``readings`` F under each convention, ``hardware`` F with recomputation, ``korthikanti`` the
    same as Korthikanti et al. published it (selective recomputation adds A instead of A/3).
    """

    params: float | None
    params_source: str | None
    attention: float | None
    model: float | None
    convention: str | None
    readings: Mapping[str, float | None]
    hardware: float | None
    korthikanti: float | None
    lacks: str | None = None


def given(model: Model, key: str) -> Any:  # noqa: ANN401 - numbers of two types, texts, a table
    """Return a value, None where it is absent or 0, which no size of a model is."""
    return model.get(key) or None


def short(value: float) -> str:
    """Return a large number as ``7.00e9``."""
    mantissa, _, exponent = f"{value:.2e}".partition("e")
    return f"{mantissa}e{int(exponent)}"


def has_size(model: Model) -> bool:
    """Whether the model is described at all, or only its tokens for a rate."""
    return any(given(model, key) for key in SIZES)


def count(model: Model) -> Count | None:
    """Count the parameters of a dense decoder from its dimensions; None where one is lacking.

    Query and output of every head, key and value of every key-value head, two or three matrices in
    the feed-forward block, the logits; besides an untied embedding and the norms.
    """
    if any(given(model, key) is None for key in _COUNTED):
        return None
    layers, hidden, vocab = (int(model[key]) for key in _COUNTED)
    heads = given(model, "heads")
    head_dim = given(model, "head_dim") or (hidden / heads if heads else None)
    width = round(heads * head_dim) if heads and head_dim else hidden
    kv_heads = given(model, "kv_heads") or heads
    kv_width = round(kv_heads * head_dim) if kv_heads and head_dim else width
    ffn = given(model, "ffn") or 4 * hidden
    # Four times the width is the classic block; any other width is that of a gated one.
    matrices = given(model, "ffn_matrices") or (2 if ffn == 4 * hidden else 3)
    layer = hidden * (2 * width + 2 * kv_width) + matrices * hidden * ffn
    embedding = hidden * vocab
    in_matrices = layers * layer + embedding
    total = in_matrices + embedding + (2 * layers + 1) * hidden
    return Count(in_matrices, embedding, total, f"counted, {matrices} feed-forward matrices")


def attention_flops(model: Model, convention: str) -> float | None:
    """Return A in FLOP per token, ``12 L (H d) s`` or half of it causal, None if not known."""
    factor = _ATTENTION[convention]
    if not factor:
        return 0.0
    layers, length = given(model, "layers"), given(model, "seq_len")
    heads, head_dim = given(model, "heads"), given(model, "head_dim")
    width = heads * head_dim if heads and head_dim else given(model, "hidden")
    if not (layers and length and width):
        return None
    return float(factor * layers * width * length)


def training_flops(model: Model) -> Flops:
    """Return the FLOPs of a training token under every convention."""
    params, source = _params(model)
    convention = model.get("attention")
    if convention is None:
        return Flops(params, source, None, None, None, {}, None, None, "attention is not given")
    attention = attention_flops(model, convention)
    whole = given(model, "flops_per_token")
    if whole:
        total: float | None = float(whole)
        words = f"{short(whole)} FLOP/token as given, {_ATTENTION_WORDS[convention]}"
        readings: dict[str, float | None] = {convention: total}
    else:
        readings = {each: _sum(params, attention_flops(model, each)) for each in CONVENTIONS}
        total = readings[convention]
        words = _words(params, attention, convention)
    return Flops(
        params,
        source,
        attention,
        total,
        words if total is not None else None,
        readings,
        _hardware(model, total, _part(attention, 1 / 3)),
        _hardware(model, total, attention),
        _lacks(model, params, whole, attention),
    )


def _params(model: Model) -> tuple[float | None, str | None]:
    if active := given(model, "moe_active_params"):
        return float(active), "active parameters, given"
    if params := given(model, "params"):
        return float(params), "given"
    counted = count(model)
    return (float(counted.matrices), counted.words) if counted else (None, None)


def _sum(params: float | None, attention: float | None) -> float | None:
    return None if params is None or attention is None else 6 * params + attention


def _part(value: float | None, share: float) -> float | None:
    return None if value is None else value * share


def _words(params: float | None, attention: float | None, convention: str) -> str:
    words = f"6N, {_ATTENTION_WORDS[convention]}, N = {short(params or 0)}"
    return words + (f", A = {short(attention)}" if attention else "")


def _hardware(model: Model, total: float | None, core: float | None) -> float | None:
    """Return F with the recomputation the user states; ``core`` is what selective adds."""
    recompute = model.get("recompute", "none")
    if total is None or recompute == "none":
        return total
    if recompute == "full":
        return total * 4 / 3
    if recompute == "selective":
        return None if core is None else total + core
    layers, again = given(model, "layers"), recompute["layers"]
    if not layers or again > layers:
        return None
    return total + total / 3 * float(again / layers)


def _lacks(
    model: Model, params: float | None, whole: float | None, attention: float | None
) -> str | None:
    if whole:
        return None
    if params is None:
        lacking = [key for key in _COUNTED if given(model, key) is None]
        return f"the size of the model: params, or {' and '.join(lacking)}"
    if attention is None:
        lacking = [key for key in ("layers", "hidden", "seq_len") if given(model, key) is None]
        return f"{' and '.join(lacking)}, for attention = {model['attention']!r}"
    return None
