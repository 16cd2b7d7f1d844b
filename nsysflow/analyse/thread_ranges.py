"""The NVTX ranges of one thread, chunk by chunk, in an order that nests."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from nsysflow.analyse.nesting import Ints
from nsysflow.analyse.ops import NEVER
from nsysflow.analyse.workspace import Workspace


def thread_ranges(work: Workspace, process: int, thread: int) -> Iterator[tuple[Ints, ...]]:
    """Yield (starts, ends, name ids, domains, own) by start, the enclosing range first.

    An open range ends before it starts; ``own`` tells ranges that end on the thread they began on.
    Ranges that begin together come in one chunk.

    Raises:
        AssertionError: the store is not in the order of starts.
    """
    return _whole_ties(_batches(work, process, thread))


def _batches(work: Workspace, process: int, thread: int) -> Iterator[tuple[Ints, ...]]:
    for batch in work.batches("thread_range", process=process, thread=thread):
        starts = batch.column("start_ns").to_numpy()
        if len(starts):
            ends = batch.column("end_ns").fill_null(NEVER).to_numpy()
            name_ids = batch.column("name_id").fill_null(-1).to_numpy()
            own = batch.column("own").to_numpy(zero_copy_only=False)
            # A range without an end encloses nothing, or a forgotten pop would nest for ever.
            ends = np.maximum(ends, starts - 1)
            yield starts, ends, name_ids, batch.column("domain").to_numpy(), own


def _whole_ties(batches: Iterator[tuple[Ints, ...]]) -> Iterator[tuple[Ints, ...]]:
    """Hold back what shares the last start of a batch, and order ranges of equal times by name.

    The store orders a thread's ranges by start, then length; what is equal in both comes as it may.
    """
    held: tuple[Ints, ...] | None = None
    for batch in batches:
        joined = batch
        if held is not None:
            joined = tuple(np.concatenate(pair) for pair in zip(held, batch, strict=True))
        starts = joined[0]
        if (starts[1:] < starts[:-1]).any():
            raise AssertionError("the ranges of a thread are not in the order of their starts")
        cut = int(np.searchsorted(starts, starts[-1], side="left"))
        held = tuple(column[cut:] for column in joined)
        if cut:
            yield _tied(tuple(column[:cut] for column in joined))
    if held is not None:
        yield _tied(held)


def _tied(chunk: tuple[Ints, ...]) -> tuple[Ints, ...]:
    starts, ends, name_ids, domains, _ = chunk
    if not ((starts[1:] == starts[:-1]) & (ends[1:] >= ends[:-1])).any():
        return chunk
    # An open range has the smallest end but encloses first.
    closed = ends >= starts
    order = np.lexsort((name_ids, domains, -ends, closed, starts))
    return tuple(column[order] for column in chunk)


def looking_ahead(
    chunks: Iterator[tuple[Ints, ...]],
) -> Iterator[tuple[tuple[Ints, ...], int | None]]:
    """Yield each chunk with the first start of the next: until then it knows every range."""
    held: tuple[Ints, ...] | None = None
    for chunk in chunks:
        if held is not None:
            yield held, int(chunk[0][0])
        held = chunk
    if held is not None:
        yield held, None
