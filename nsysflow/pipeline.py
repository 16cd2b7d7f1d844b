"""find -> convert -> analyse -> render; each part reads only what the former wrote."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from nsysflow import analyse as analysing
from nsysflow import outdir, rank, record, render, tasks
from nsysflow.console import Console, Progress
from nsysflow.convert import trace_folder
from nsysflow.errors import EXIT_OK, EXIT_PARTIAL, NothingUsableError, NsysflowError, UsageError
from nsysflow.executor import Function, Outcome, Pool
from nsysflow.find import Found
from nsysflow.mask import Masker
from nsysflow.outdir import OutDir
from nsysflow.record import InputState, Record
from nsysflow.render.role import brief
from nsysflow.scratch import clean, owned
from nsysflow.settings import Limits, Settings

WHOLE = (1, 1)
_SCRATCH = "tmp"
# What measuring a lane takes, as seen on lanes of one to ten million ops.
LANE_BYTES, OP_BYTES = 150_000_000, 400


@dataclass(frozen=True)
class Plan:
    """How to work: what was asked, where calls run, which nsys exports, which part is ours."""

    settings: Settings
    pool: Pool = field(default_factory=Pool)
    nsys: str | None = None
    shard: tuple[int, int] = WHOLE
    console: Console = field(default_factory=Console)

    def mine(self, count: int) -> list[int]:
        """Return the positions that belong to this shard; every N-th, so that hosts are mixed."""
        return [index for index in range(count) if index % self.shard[1] == self.shard[0] - 1]


@dataclass(frozen=True)
class _Stage:
    """One kind of call: ``arguments(position, limits)`` are those of the call at a position.

    ``need(position)`` is about how much memory the call takes in bytes; ``is_done(position)`` tells
    that an earlier run did it, which is found out sooner than a process is started.
    """

    name: str
    function: Function
    arguments: Callable[[int, Limits], tuple[Any, ...]]
    need: Callable[[int], int] = lambda _position: 0
    is_done: Callable[[int], bool] = lambda _position: False


def convert(found: Found, out: OutDir, plan: Plan) -> Record:
    """Bring every input of this shard into the store; say which failed and why.

    Raises:
        UsageError: the rank map names a file that is not there.
    """
    rank.check_rank_map(plan.settings.rank_map, {each.file: each.twins for each in found.inputs})
    states = [InputState(each.file, "waiting", trace=trace_folder(each)) for each in found.inputs]
    tasks.drop_other_traces(out.store, {str(state.trace) for state in states})
    lost = [
        InputState(each.file, "failed", each.stage, each.message, each.hint)
        for each in found.failures
    ]
    for state in lost:
        _tell(plan.console, state)

    def call(index: int, limits: Limits) -> tuple[Any, ...]:
        target = out.store / str(states[index].trace)
        return (found.inputs[index], target, plan.settings, limits, plan.nsys)

    def is_done(index: int) -> bool:
        target = out.store / str(states[index].trace)
        return tasks.is_converted(found.inputs[index], target, plan.settings)

    stage = _Stage("convert", tasks.convert_input, call, is_done=is_done)
    with _running(stage, plan.mine(len(states)), out, plan) as ends:
        for position, outcome in ends:
            state = replace(states[position], status="ok")
            if outcome.error is not None:
                state = state.broken(outcome.error, "convert")
                _tell(plan.console, state, outcome)
                # What an earlier run read of it would still answer `nsysflow sql`.
                shutil.rmtree(out.store / str(state.trace), ignore_errors=True)
            states[position] = state
    made = Record(found.name, found.notes, (*states, *lost), plan.settings)
    record.write(out.store, made, plan.shard)
    for note in found.notes:
        plan.console.detail(note)
    return made


def analyse(out: OutDir, plan: Plan, made: Record) -> dict[str, Any]:
    """Write the documents of all lanes and ``result.json``; return the latter.

    Raises:
        NothingUsableError: no lane has a document.
        UsageError: the options fit no lane (a window outside every capture).
    """
    table = _table(out, plan, made)
    errors = _analyse_lanes(out, plan, made, table)
    labels = [lane.label for lane in table.lanes if lane.label not in errors]
    wrong = [error for error in errors.values() if isinstance(error, UsageError)]
    if wrong and not labels:
        raise wrong[0]
    out.keep_only([f"rank-{label}.json" for label in labels], ["rank-*.json"])
    made = replace(made, states=_states(made, table, errors))
    if not labels:
        out.keep_only([], ["result.json", "index.html", "rank-*.html"])
        raise nothing_usable(made)
    lanes = [lane for lane in table.lanes if lane.label not in errors]
    result = analysing.analyse_job(_files(out), lanes, table, made, plan.settings)
    result = tasks.masked_result(result, table.hosts)
    outdir.write_text(out.path / "result.json", outdir.json_text(result))
    return result


def _files(out: OutDir) -> analysing.Files:
    def write(lane: rank.Lane, text: str) -> None:
        outdir.write_text(out.path / f"rank-{lane.label}.json", text)

    return analysing.Files(out.store, lambda lane: tasks.stored(out.store, lane), write)


def analyse_shard(out: OutDir, plan: Plan, made: Record) -> list[str]:
    """Measure this shard's lanes only, into the store; return the status of each lane."""
    table = _table(out, plan, made)
    errors = _analyse_lanes(out, plan, made, table)
    mine = [table.lanes[position] for position in plan.mine(len(table.lanes))]
    return ["failed" if lane.label in errors else "ok" for lane in mine]


def draw(out: OutDir, plan: Plan) -> tuple[Path, int]:
    """Write every page from the documents alone; return the index and how many pages are lost.

    A rank document that is not what was written costs its own page.

    Raises:
        UsageError: there is no result document, or it is not what was written.
    """
    source = out.path / "result.json"
    if not source.is_file():
        raise UsageError(f"{out.path} holds no result.json", hint="run nsysflow analyse first")
    result = tasks.load(source)
    with tasks.drawing(source):
        names, job = tasks.page_names(result), brief(result)
    rows, ranks = [dict(row) for row in result["ranks"]], []
    for position, lost in enumerate(_draw_ranks(out, plan, names, job)):
        if lost is None:
            ranks.append(tasks.for_index(tasks.load(out.path / names[position][0])))
        else:
            plan.console.fail(str(lost))
            rows[position]["page"] = None
    with tasks.drawing(source):
        text = render.render_index({**result, "ranks": rows}, ranks)
    outdir.write_text(out.path / "index.html", text)
    out.keep_only([row["page"] for row in rows], ["rank-*.html"])
    return out.path / "index.html", len(rows) - len(ranks)


def _draw_ranks(
    out: OutDir, plan: Plan, names: list[tuple[str, str]], job: dict[str, Any]
) -> list[NsysflowError | None]:
    """Write the page of each rank document; return for each why there is none."""

    def call(position: int, _limits: Limits) -> tuple[Any, ...]:
        document, page = names[position]
        return (out.path / document, out.path / page, job)

    lost: list[NsysflowError | None] = [None] * len(names)
    stage = _Stage("render", tasks.render_page, call)
    with _running(stage, range(len(names)), out, plan) as ends:
        for position, outcome in ends:
            error = outcome.error
            if error is not None and not isinstance(error, UsageError):
                error = NsysflowError(f"{names[position][1]}: {error}")
            lost[position] = error
            plan.console.traceback(outcome.trace or "")
    return lost


def _table(out: OutDir, plan: Plan, made: Record) -> rank.RankTable:
    captures = [
        {
            **rank.gpu_rows(out.store, state.trace),
            **tasks.capture(out.store / state.trace),
            "trace": state.trace,
        }
        for state in made.states
        if state.trace and state.status == "ok"
    ]
    failed = [state.file for state in made.states if state.status != "ok"]
    return rank.rank_table(captures, plan.settings, failed)


def _analyse_lanes(
    out: OutDir, plan: Plan, made: Record, table: rank.RankTable
) -> dict[str, NsysflowError]:
    """Write the documents of this shard; return label -> error of the lanes that failed."""
    states = {state.trace: state for state in made.states}
    errors: dict[str, NsysflowError] = {}

    def call(index: int, limits: Limits) -> tuple[Any, ...]:
        return (out.store, table.lanes[index], table.hosts, plan.settings, limits)

    def need(index: int) -> int:
        return LANE_BYTES + OP_BYTES * table.lanes[index].ops

    def is_done(index: int) -> bool:
        return tasks.is_analysed(out.store, table.lanes[index], table.hosts, plan.settings)

    stage = _Stage("analyse", tasks.analyse_lane, call, need, is_done)
    with _running(stage, plan.mine(len(table.lanes)), out, plan) as ends:
        for position, outcome in ends:
            if outcome.error is not None:
                lane = table.lanes[position]
                errors[lane.label] = outcome.error
                _tell(plan.console, states[lane.trace].broken(outcome.error, "analyse"), outcome)
    return errors


def _states(
    made: Record, table: rank.RankTable, errors: dict[str, NsysflowError]
) -> tuple[InputState, ...]:
    """Return the states of the inputs once their lanes were analysed."""
    failing = {lane.trace: errors[lane.label] for lane in table.lanes if lane.label in errors}
    return tuple(
        state.broken(failing[state.trace], "analyse") if state.trace in failing else state
        for state in made.states
    )


def tell_failures(made: Record, console: Console) -> None:
    """Name each input that an earlier convert lost."""
    for state in made.states:
        if state.status != "ok":
            _tell(console, state)


def exit_code(statuses: Iterable[str]) -> int:
    """Return 0 when every input was usable, else 3."""
    return EXIT_OK if all(status == "ok" for status in statuses) else EXIT_PARTIAL


def nothing_usable(made: Record) -> NothingUsableError:
    """Return the error that ends a run without a report."""
    bare = sum(state.status == "no_gpu_work" for state in made.states)
    count = len(made.states)
    return NothingUsableError(
        f"no report: of {count} input{'s' * (count != 1)} none can be analysed "
        f"({bare} without GPU work, {count - bare} failed)",
        hint="the lines above say what to do for each",
    )


@contextlib.contextmanager
def _running(
    stage: _Stage, positions: Sequence[int], out: OutDir, plan: Plan
) -> Iterator[Iterator[tuple[int, Outcome]]]:
    """Make the calls of a stage; they are ended with the block, wherever an interrupt strikes."""
    with _scratch(out) as scratch:
        need = max(map(stage.need, positions), default=0)
        pool = plan.pool.fitting(need)
        limits = pool.limits(max(1, len(positions)), scratch, need)
        done = [position for position in positions if _is_done(stage, position)]
        waiting = sorted(set(positions) - set(done))
        calls = [stage.arguments(position, limits) for position in waiting]
        progress = Progress(plan.console, stage.name, len(positions))

        def told(ends: Iterator[tuple[int, Outcome]]) -> Iterator[tuple[int, Outcome]]:
            kept = ((position, Outcome(value="kept")) for position in done)
            made = ((waiting[index], outcome) for index, outcome in ends)
            for position, outcome in chain(kept, made):
                progress.step()
                what = f"{stage.name} {positions.index(position) + 1}/{len(positions)}"
                plan.console.detail(f"{what}: {outcome.value or outcome.error or 'done'}")
                yield position, outcome

        with contextlib.closing(pool.run(stage.function, calls, out.path)) as ends:
            yield told(ends)
        progress.end()


def _is_done(stage: _Stage, position: int) -> bool:
    # Why an input cannot even be looked at is said by the call.
    with contextlib.suppress(NsysflowError, OSError):
        return stage.is_done(position)
    return False


@contextlib.contextmanager
def _scratch(out: OutDir) -> Iterator[Path]:
    clean(out.path, _SCRATCH)
    folder = out.path / owned(_SCRATCH)
    folder.mkdir(exist_ok=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _tell(console: Console, state: InputState, outcome: Outcome | None = None) -> None:
    console.fail(Masker().text(state.line()))
    if outcome is not None:
        console.traceback(outcome.trace or "")
