"""Checks of what the user says about the model and its tokens."""

from __future__ import annotations

from nsysflow.mfu.estimate import Estimate
from nsysflow.mfu.flops import CONVENTIONS, Count, count, given, short
from nsysflow.mfu.verdict import OK, SUSPICIOUS, UNKNOWN, Finding, Findings, percent

# Above, N with and without the input embedding are two different answers.
EMBEDDING = 0.05
SAME_PARAMS = 0.03
PADDING = 0.5
# FLOPs per parameter and token: forward and backward 6, a forward pass 2, forward twice 8; between
# 6 and 7.5 lies what attention usually adds.
_TRAINING = (5.5, 7.5)
_TWICE_FORWARD = 8.5
_ALL_MATRICES = ("layers", "hidden", "heads", "ffn", "vocab")


def tokens(found: Estimate) -> Findings:
    """Are these the tokens of one step of the whole job, once each?"""
    stated, length = given(found.model, "tokens_per_step"), given(found.model, "seq_len")
    batch = given(found.model, "global_batch")
    if found.tokens is None:
        yield UNKNOWN, "tokens per step are not given"
    elif stated and batch and length:
        yield _padding(stated, batch * length)
    elif not length:
        yield UNKNOWN, f"{found.tokens:,.0f} tokens per step; seq_len would allow a test of them"
    elif found.tokens % length:
        text = f"{found.tokens:,.0f} tokens are no whole number of sequences of {length:,}"
        yield SUSPICIOUS, f"{text}: padding left out, or tokens of part of the job"
    else:
        text = f"{found.tokens:,.0f} tokens per step are {found.tokens / length:,.0f} sequences"
        yield OK, f"{text} over all GPUs; none of it should be padding"


def _padding(stated: float, whole: float) -> Finding:
    both = f"tokens_per_step is {stated:,.0f}, global_batch × seq_len {whole:,.0f}"
    if stated > whole:
        return SUSPICIOUS, f"{both}: is gradient accumulation counted twice?"
    padding = 1 - stated / whole
    if padding > PADDING:
        return SUSPICIOUS, f"{both}: are these the tokens of one data-parallel rank?"
    return OK, f"{both}: {percent(padding)} padding"


def attention(found: Estimate) -> Findings:
    """Which convention is used, and what the others would say."""
    convention = found.flops.convention
    if convention is None:
        return
    shares = {name: found.share(found.flops.readings.get(name)) for name in CONVENTIONS}
    read = ", ".join(f"{name} {percent(s)}" for name, s in shares.items() if s is not None)
    text = f"convention: {convention}"
    yield OK, f"{text}; MFU by how attention is counted: {read}" if read else text


def params(found: Estimate) -> Findings:
    """Is N what takes part in matrix products?"""
    model, flops = found.model, found.flops
    whole, stated = given(model, "flops_per_token"), given(model, "params")
    active = given(model, "moe_active_params")
    if whole and flops.params:
        yield _per_parameter(float(whole) / flops.params)
    if active and stated and active > stated:
        yield SUSPICIOUS, "moe_active_params is more than params"
    elif whole or flops.params is None:
        return
    elif active or not stated:
        yield OK, f"N = {short(flops.params)} ({flops.params_source})"
    elif all(given(model, key) for key in _ALL_MATRICES) and (counted := count(model)):
        yield _embedding(stated, counted)
    else:
        text = f"N = {short(flops.params)} as given: MFU reads too high"
        yield UNKNOWN, f"{text} if it holds the input embedding or experts a token does not visit"


def _per_parameter(ratio: float) -> Finding:
    text = f"flops_per_token is {ratio:.2f} N"
    low, high = _TRAINING
    if low <= ratio <= high:
        return OK, text
    if ratio < low:
        return SUSPICIOUS, f"{text}: training takes 6 N, a forward pass alone 2 N"
    if ratio <= _TWICE_FORWARD:
        return SUSPICIOUS, f"{text}: 8 N holds recomputation, which is no work of the model"
    return UNKNOWN, f"{text}: above 6 N is attention over long sequences, or a slip"


def _embedding(stated: float, counted: Count) -> Finding:
    text = f"N = {short(stated)} as given, {short(counted.matrices)} in matrices by the dimensions"
    from_matrices = abs(stated / counted.matrices - 1)
    from_total = abs(stated / counted.total - 1)
    if min(from_matrices, from_total) > SAME_PARAMS:
        return SUSPICIOUS, f"{text}: they disagree"
    if from_matrices <= from_total or counted.embedding / stated < EMBEDDING:
        return OK, text
    return SUSPICIOUS, f"{text}: N seems to hold the input embedding, which is only looked up"


def recompute(found: Estimate) -> Findings:
    """How HFU is made."""
    stated = found.model.get("recompute", "none")
    if stated == "none" or found.flops.model is None:
        return
    if found.flops.hardware is None:
        need = "layers, no fewer than recomputed" if isinstance(stated, dict) else "the dimensions"
        yield UNKNOWN, f"HFU needs {need}"
    elif stated == "selective":
        published = found.share(found.flops.korthikanti)
        other = f"; {percent(published)} as Korthikanti et al. count it" if published else ""
        yield OK, f"HFU adds a forward pass of the core attention{other}"
    else:
        yield OK, "HFU by formula: a bit high, as the logits are usually not computed again"
