"""What a finding is: one question, its answer from the lane's sections, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nsysflow import savings
from nsysflow.shares import mean_ns

Document = Mapping[str, Any]

FEW_STEPS = 5
TRUSTED_STEPS = 0.5
COPIES = {
    "h2d": "host to device",
    "d2h": "device to host",
    "h2a": "host to an array on the device",
    "a2h": "array on the device to host",
    "a2a": "between arrays on the device",
    "a2d": "array to other memory of the device",
    "d2a": "device memory to an array",
    "d2d": "within the device",
    "p2p": "device to device",
    "h2h": "host to host",
    "uvm_h2d": "unified memory to the device",
    "uvm_d2h": "unified memory to the host",
    "uvm_d2d": "unified memory between devices",
}


@dataclass(frozen=True)
class Answer:
    """What a question found. ``total_ns`` of the kept steps is what removing the cause would free.

    ``status`` None lets the bound decide between opportunity and ok. ``direct`` tells evidence
    recorded for the very instants from a pattern. ``title``, ``calm``, ``why``, ``fix``, ``verify``
    and ``experiment`` replace the question's own sentences, and ``capture`` its advice: empty where
    nothing is left to be recorded.
    """

    total_ns: int | None = None
    evidence: tuple[Any, ...] = ()
    status: str | None = None
    reason: str | None = None
    title: str | None = None
    calm: str | None = None
    direct: bool = True
    fires: bool = True
    why: str | None = None
    fix: str | None = None
    trade_off: str | None = None
    verify: str | None = None
    experiment: str | None = None
    capture: str | None = None


@dataclass(frozen=True)
class Question:
    """One card: the claim if it fires, the calm sentence if not, and the advice.

    ``needs`` are the sections it is answered from: one that failed leaves the question open.
    """

    id: str
    category: str
    claim: str
    calm: str
    why: str
    fix: str
    verify: str
    answer: Callable[[Lane], Answer]
    needs: tuple[str, ...] = ()
    bucket: str | None = None
    trade_off: str | None = None
    experiment: str | None = None
    capture: str | None = None

    def parts(self) -> list[tuple[str, str]]:
        """Return what a card of this question says whatever was found, under the page's titles."""
        texts = (
            ("Why it costs time", self.why),
            ("Do", self.fix),
            ("Trade-off", self.trade_off),
            ("Check that it worked", self.verify),
            ("Next experiment", self.experiment),
            ("To be surer, capture", self.capture),
        )
        return [(title, text) for title, text in texts if text]


@dataclass(frozen=True)
class Lane:
    """A lane's document as the questions see it; ``alone``: the run has no other lane."""

    document: Document
    alone: bool
    step_ns: tuple[int, ...] = field(default=())

    @property
    def idle(self) -> Mapping[str, int]:
        """Idle time by cause."""
        found: Mapping[str, int] = self.document["causes"]["idle"]
        return found

    @property
    def window_ns(self) -> int:
        """Length of the kept steps together."""
        return int(self.document["buckets"]["window_ns"])

    @property
    def kept(self) -> int:
        """How many steps count."""
        return int(self.document["steps"]["kept"])

    @property
    def chosen(self) -> bool:
        """Whether figures cover the time that the user chose, not steps."""
        return bool(self.document["steps"].get("chosen"))

    def section(self, name: str) -> Mapping[str, Any]:
        """Return a section."""
        found: Mapping[str, Any] = self.document[name]
        return found

    def items(self, name: str) -> Sequence[Mapping[str, Any]]:
        """Return the rows of a list section; none if it was not recorded."""
        return self.document[name].get("items") or ()

    def top(self, name: str) -> Sequence[Mapping[str, Any]]:
        """Return the largest of a section that lists only those; none if it was not recorded."""
        return self.document[name].get("top") or ()

    def per_step(self, total_ns: int) -> str:
        """Write a total of the kept steps as time per step."""
        return time_text(mean_ns(total_ns, self.kept) or 0)

    @property
    def launched(self) -> bool:
        """Whether some device work of the steps was recorded with the call that asked for it."""
        launch = self.section("launch")
        if launch["status"] != "ok":
            return bool(launch["status"] != "not_recorded")
        return launch["queue_depth_median"] is not None

    def lacks(self, table: str) -> bool:
        """Whether the export has no such raw table."""
        return str(self.document["capture"]["tables"].get(table, "absent")) == "absent"


def finding(question: Question, lane: Lane) -> dict[str, Any]:
    """Return the finding document of one question."""
    answer = _failed(question, lane) or question.answer(lane)
    size = None
    if answer.total_ns is not None:
        size = savings.bound(answer.total_ns, lane.window_ns, lane.kept)
    status = answer.status or _status(answer, size, lane)
    advice = status == "opportunity"
    kept = [item for item in lane.document["steps"]["items"] if item["kept"]]
    return {
        "id": question.id,
        "status": status,
        "category": question.category,
        "title": _of_window(_title(question, answer, status), lane),
        "bucket": question.bucket,
        "bound_ns_per_step": size.ns_per_step if size and status != "unavailable" else None,
        "bound_frac": size.frac if size and status != "unavailable" else None,
        "bound_kind": "at most",
        "confidence": _confidence(answer, lane),
        "n_steps": lane.kept,
        "window_ns": [kept[0]["start_ns"], kept[-1]["end_ns"]] if kept else None,
        "evidence": [_of_window(item, lane) for item in answer.evidence],
        "why": answer.why or question.why,
        "fix": answer.fix or question.fix,
        "trade_off": (answer.trade_off or question.trade_off) if advice else None,
        "verify": answer.verify or question.verify,
        "experiment": (answer.experiment or question.experiment) if advice else None,
        "capture_next": (question.capture if answer.capture is None else answer.capture) or None,
    }


def _of_window(item: Any, lane: Lane) -> Any:  # noqa: ANN401 - a text, or a row with one
    """Say of the capture what is said per step, where no steps were found."""
    if lane.document["steps"]["source"] != "none":
        return item
    if isinstance(item, str):
        whole = "chosen time" if lane.chosen else "capture"
        for words in ("per step", "of the step", "inside the step"):
            item = item.replace(f" {words}", f" {words.removesuffix('step')}{whole}")
        return item.replace(f" per {whole}", f" in the {whole}")
    return {**item, "text": _of_window(item["text"], lane)}


def _failed(question: Question, lane: Lane) -> Answer | None:
    for name in question.needs:
        if lane.section(name)["status"] == "error":
            reason = f"the section on {plain(name)} failed: {lane.section(name)['reason']}"
            return Answer(status="error", reason=reason)
    return None


def _status(answer: Answer, size: savings.Bound | None, lane: Lane) -> str:
    if size is None or not answer.fires:
        return "ok"
    return "opportunity" if savings.worth_a_card(size, lane.step_ns) else "ok"


def _title(question: Question, answer: Answer, status: str) -> str:
    if status in ("unavailable", "error"):
        return answer.reason or "could not be looked at"
    if status == "ok":
        return answer.calm or question.calm
    return answer.title or question.claim


def _confidence(answer: Answer, lane: Lane) -> str:
    """High needs direct evidence, the job's walk (a lone lane is its own) and enough steps."""
    if not answer.direct or lane.document["steps"]["confidence"] < TRUSTED_STEPS:
        return "low"
    return "high" if lane.alone and lane.kept >= FEW_STEPS else "medium"


def unavailable(reason: str, capture: str) -> Answer:
    """Return the answer of a question that could not be looked at."""
    return Answer(status="unavailable", reason=reason, capture=capture)


def plain(name: str | None) -> str:
    """Write a word of a closed vocabulary as prose."""
    text = str(name or "")
    return COPIES.get(text) or text.replace("_", " ")


def code(name: object) -> str:
    """Mark a name from the trace, so that it is told from the words around it."""
    text = str(name).replace("`", "'")
    return f"`{text}`" if text else text


def time_text(ns: int) -> str:
    """Write a duration the way the pages do: three significant digits, unit by size."""
    for limit, unit, scale in ((10**9, "s", 10**9), (10**6, "ms", 10**6), (10**3, "µs", 10**3)):
        if ns >= limit:
            value = ns / scale
            digits = max(0, 3 - len(str(int(value))))
            return f"{value:.{digits}f} {unit}"
    return f"{ns} ns"


def bytes_text(count: int) -> str:
    """Write a size in decimal units."""
    for limit, unit in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if count >= limit:
            return f"{count / limit:.3g} {unit}"
    return f"{count} B"
