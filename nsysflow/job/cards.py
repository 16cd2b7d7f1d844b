"""The questions that only a job has: who is late, the pipeline, groups over several hosts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nsysflow import savings
from nsysflow.findings.base import FEW_STEPS, plain, time_text
from nsysflow.shares import frac, median_ns

Document = dict[str, Any]

SLOW_LINK = 0.7
# Below, latency decides, not bandwidth.
LARGE_BYTES = 1_000_000
MOST_EVIDENCE = 4
NOT_SURE = "A rank came last, in too few steps to rule out chance"
CAPTURE = "--trace=cuda,nvtx,nccl on all ranks, the same steps on each"
FIX = {
    "slow compute": "Same kernels, longer: look at clocks, temperature, power and ECC of that GPU "
    "(nvidia-smi -q), at other users of it; swap the node and see whether the lateness moves.",
    "more work": "Balance what ranks get: sequence lengths, experts, padding.",
    "host": "Look at that rank's page for what its host does; pin its threads, collect garbage on "
    "all ranks at once.",
    "data": "Look at that rank's loader and storage: workers, cache, the file it reads.",
    "comm on another communicator": "Follow the other communicator: its late rank is the cause.",
}


def cards(lanes: Sequence[Document], sections: Mapping[str, Document]) -> list[Document]:
    """Return the findings that no single lane can have."""
    found = [_stragglers(lanes, sections), _pipeline(lanes, sections["pipeline"])]
    if sections["collectives"]["status"] == "ok":
        found.append(_over_hosts(lanes, sections["collectives"]["groups"]))
        found.append(_slow_links(sections["collectives"]["groups"]))
    return found


def _card(**values: object) -> Document:
    base: Document = {
        "status": "ok", "bucket": None, "bound_ns_per_step": None, "bound_frac": None,
        "bound_kind": "at most", "confidence": "medium", "n_steps": 0, "window_ns": None,
        "evidence": [], "trade_off": None, "experiment": None, "capture_next": None, "ranks": [],
    }  # fmt: skip
    return base | values


def _step_ns(lanes: Sequence[Document], sections: Mapping[str, Document]) -> int:
    if sections["walk"]["status"] == "ok":
        return int(sections["walk"]["step_ns"])
    return median_ns([lane["steps"]["period_ns"] or 0 for lane in lanes]) or 0


def _stragglers(lanes: Sequence[Document], sections: Mapping[str, Document]) -> Document:
    section = sections["stragglers"]
    base = {
        "id": "straggler",
        "category": "stragglers",
        "why": "A collective ends when its last member has arrived: the others wait for it.",
        "fix": "Mend the rank that comes last; nothing about the network helps.",
        "verify": "Waiting of the other ranks falls; who comes last changes from step to step.",
    }
    if section["status"] != "ok":
        return _card(**base, title=section["reason"], status="unavailable", capture_next=CAPTURE)
    late = [item for item in section["items"] if item["verdict"] == "straggler"]
    other = [item for item in section["items"] if item["verdict"] != "straggler"]
    if not late:
        maybe = any(item["verdict"] == "cannot_tell" for item in other)
        title = NOT_SURE if maybe else "No rank alone makes the others wait in most steps"
        texts = [_text(item) for item in other[:MOST_EVIDENCE]]
        status = "info" if other else "ok"
        return _card(**base, title=title, status=status, evidence=texts, ranks=_ranks(other))
    gain = max(item["gain_bound_ns_per_step"] for item in late)
    step_ns = _step_ns(lanes, sections)
    worth = gain >= savings.LEAST_FRAC * step_ns
    steps = len(sections["walk"]["steps"])
    return _card(
        **(base | {"fix": FIX.get(late[0]["cause"], base["fix"])}),
        title="One rank makes the others wait" if len(late) == 1 else "Some ranks make others wait",
        status="opportunity" if worth else "info",
        bound_ns_per_step=gain,
        bound_frac=frac(gain, step_ns),
        confidence="high" if steps >= FEW_STEPS else "medium",
        n_steps=steps,
        evidence=[_text(item) for item in late[:MOST_EVIDENCE]],
        experiment="Run once without that node: the step shrinks by at most the bound.",
        ranks=_ranks(late),
    )


def _text(item: Document) -> str:
    name = item["label"] if item["rank"] is None else item["rank"]
    why = f"; {item['cause']}" if item["cause"] else ""
    return (
        f"rank {name}, {item['verdict'].replace('_', ' ')}: {item['evidence'][0]}, "
        f"{time_text(max(0, item['median_late_ns']))} late in the median step{why}"
    )


def _ranks(items: Sequence[Document]) -> list[int | str]:
    return [item["label"] if item["rank"] is None else item["rank"] for item in items[:16]]


def _pipeline(lanes: Sequence[Document], section: Document) -> Document:
    base = {
        "id": "pipeline_schedule",
        "category": "pipeline_bubble",
        "why": "A stage has nothing to do until the first micro-batch comes and after the last "
        "went.",
        "fix": "More micro-batches per step, interleaved stages, layers moved away from the "
        "longest stage, a zero-bubble schedule.",
        "verify": "The bubble per stage falls towards theory.",
    }
    if section["status"] == "withheld":
        return _card(**base, title=section["reason"], status="unavailable", capture_next=CAPTURE)
    if section["status"] != "ok":
        return _card(**base, title="No pipeline stages were found")
    stages, batches = section["stages"], section["micro_batches"]
    step_ns = median_ns([lane["steps"]["period_ns"] or 0 for lane in lanes]) or 0
    measured = sum(stage["bubble_ns_per_step"] for stage in stages) // len(stages)
    # What is left with enough micro-batches stays.
    left = round(
        (len(stages) - 1) / (section["micro_batches_for_small"] + len(stages) - 1) * step_ns
    )
    size = max(0, measured - left)
    told = [
        f"stage {stage['stage']}: {time_text(stage['bubble_ns_per_step'])} of bubble and "
        f"{time_text(stage['compute_ns_per_step'])} of compute per step"
        for stage in stages[:MOST_EVIDENCE]
    ]
    if batches is None:
        theory = "micro-batches could not be counted"
    else:
        theory = (
            f"{len(stages)} stages and {batches} micro-batches cost "
            f"{100 * section['theory_frac']:.1f} % in theory; "
            f"{section['micro_batches_for_small']} micro-batches stay below 5 %"
        )
    more = time_text(section["imbalance_ns_per_step"])
    imbalance = f"the longest stage computes {more} more than the mean"
    worth = size >= savings.LEAST_FRAC * step_ns
    return _card(
        **base,
        title="Stages wait for each other" if worth else "The pipeline bubble is small",
        status="opportunity" if worth else "ok",
        bound_ns_per_step=size,
        bound_frac=frac(size, step_ns),
        n_steps=min(lane["steps"]["kept"] for lane in lanes),
        evidence=[theory, imbalance, *told],
        trade_off="More micro-batches hold more activations; interleaving sends more messages.",
    )


def _over_hosts(lanes: Sequence[Document], groups: Sequence[Document]) -> Document:
    base = {
        "id": "tp_over_hosts",
        "category": "exposed_communication",
        "why": "Its collectives stand between layers, where nothing hides them, on the slowest "
        "links.",
        "fix": "Keep a tensor-parallel group within a host; spend the other hosts on data or "
        "pipeline parallelism.",
        "verify": "Each tensor-parallel communicator names one host.",
    }
    wide = [group for group in groups if group["kind"] == "tp" and len(group["hosts"]) > 1]
    untold = None if wide else _untold_hosts(lanes, groups)
    if untold:
        return _card(**base, title=untold, status="unavailable")
    texts = [
        f"{group['communicator'] or 'no id'}: {len(group['members'])} ranks on "
        f"{', '.join(group['hosts'])}"
        for group in wide[:MOST_EVIDENCE]
    ]
    return _card(
        **base,
        title="Tensor parallelism spans hosts" if wide else "No tensor parallelism between hosts",
        status="info" if wide else "ok",
        evidence=texts,
    )


def _untold_hosts(lanes: Sequence[Document], groups: Sequence[Document]) -> str | None:
    """Say why tensor parallelism between hosts cannot be ruled out, None if it can."""
    hosts = {lane["lane"]["host"] for lane in lanes}
    files = {lane["lane"]["file"] for lane in lanes}
    maybe = [group for group in groups if group["kind"] in ("tp", "unknown")]
    if None in hosts and len(files) > 1 and maybe:
        return "which hosts the ranks run on was not recorded"
    if any(group["kind"] == "unknown" and len(group["hosts"]) > 1 for group in groups):
        return "what the communicators between hosts are for is not known: say so in [job]"
    return None


def _slow_links(groups: Sequence[Document]) -> Document:
    """Bandwidth is compared on transfers alone, among equal operations, sizes and host counts."""
    base = {
        "id": "slow_links",
        "category": "exposed_communication",
        "confidence": "low",
        "why": "Equal operations of equal size should move at one speed.",
        "fix": "Look at the links and NICs of those hosts: NVLink, PCIe width, cable, routing.",
        "verify": "Bus bandwidth of equal operations agrees.",
    }
    if all(row["of_best_frac"] is None for group in groups for row in group["traffic"]):
        title = "bandwidth is not known: sizes of messages or times of their transfer are missing"
        return _card(**base, title=title, status="unavailable", capture_next=CAPTURE)
    slow = [
        (row["of_best_frac"], group, row)
        for group in groups
        for row in group["traffic"]
        if row["of_best_frac"] is not None and row["of_best_frac"] < SLOW_LINK
        and (row["median_bytes"] or 0) >= LARGE_BYTES
    ]  # fmt: skip
    slow.sort(key=lambda each: (each[0], each[1]["communicator"] or "", each[2]["op"]))
    texts = [
        f"{group['communicator'] or 'no id'} ({', '.join(group['members'][:4])}): "
        f"{plain(row['op'])} at {row['busbw_bytes_per_s'] / 1e9:.3g} GB/s, "
        f"{100 * share:.0f} % of the best of its size"
        for share, group, row in slow[:MOST_EVIDENCE]
    ]
    return _card(
        **base,
        title="Some communicators transfer slower than others"
        if slow
        else "No slow link stands out",
        status="info" if slow else "ok",
        evidence=texts,
    )
