"""Several readers at once, one Arrow stream out: SQLite hands over rows on every core."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType

import pyarrow as pa

# Batches waiting for the engine. More only costs memory: readers are slower than what follows.
_DEPTH = 4
_POLL_S = 0.1

Batches = Callable[[], Iterator[pa.RecordBatch]]


class Merged:
    """The batches of several sources in the order in which they come.

    One source is read in the calling thread, several in a thread each. ``error`` is what a source
    raised; the stream then ends with it.
    """

    def __init__(self, schema: pa.Schema, sources: Sequence[Batches]) -> None:
        """Each source is called once, in the thread that will read it."""
        self.error: Exception | None = None
        self.rows = 0
        self._schema = schema
        self._sources = sources
        self._queue: queue.Queue[pa.RecordBatch | Exception | None] = queue.Queue(_DEPTH)
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []

    def reader(self) -> pa.RecordBatchReader:
        """Return the stream; it can be read once."""
        return pa.RecordBatchReader.from_batches(self._schema, self._batches())

    def __enter__(self) -> Merged:
        """Return self; leaving stops every thread."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop the threads, also those that wait for room in the queue."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _batches(self) -> Iterator[pa.RecordBatch]:
        source = self._sources[0]() if len(self._sources) == 1 else self._merged()
        try:
            for batch in source:
                self.rows += batch.num_rows
                yield batch
        except Exception as error:
            self.error = error
            raise

    def _merged(self) -> Iterator[pa.RecordBatch]:
        self._threads = [
            threading.Thread(target=self._produce, args=(source,), daemon=True)
            for source in self._sources
        ]
        for thread in self._threads:
            thread.start()
        left = len(self._threads)
        while left:
            item = self._queue.get()
            if item is None:
                left -= 1
            elif isinstance(item, Exception):
                raise item
            else:
                yield item

    def _produce(self, source: Batches) -> None:
        try:
            for batch in source():
                if not self._put(batch):
                    return
        except Exception as error:  # noqa: BLE001 - raised again where the stream is read
            self._put(error)
        finally:
            self._put(None)

    def _put(self, item: pa.RecordBatch | Exception | None) -> bool:
        while not self._stop.is_set():
            try:
                self._queue.put(item, timeout=_POLL_S)
            except queue.Full:
                continue
            return True
        return False
