"""Annotations on their way through: their texts shortened and collected, whatever their number."""

from __future__ import annotations

import threading
from pathlib import Path
from types import TracebackType

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

# Categories, names of domains and threads: not ranges, but they name some.
_RANGES = pa.array([34, 59, 60, 70, 71], pa.int64())
_PUSH_POP = 59
# emit_nvtx appends what varies from call to call; the operation is what stands before.
_ADDED = r"(?s), (?:seq|op_id|sizes) = .*$"
_CARRIED = ", op_id = "
_FRAMEWORK = "^(?:aten::|autograd::|FSDP::|torch::|c10d::|CheckpointFunction)"
# Texts remembered as written already; more are simply written again and merged later.
_REMEMBERED = 200_000
_ROWS_AT_ONCE = 50_000
_TEXT = pa.schema([("value", pa.string())])


class Texts:
    """Replaces ``text`` by ``plain`` and ``framework``, and keeps rows that are no ranges apart.

    ``text_id`` becomes the id of the text that counts, and ``reader`` tells who read a batch: the
    rows of one reader come in the order of the file. Called from several threads. What it collects
    lies in two scratch files.
    """

    def __init__(self, scratch: Path, columns: pa.Schema, registered: pa.Table) -> None:
        """``columns`` are those of the batches that will come.

        ``registered``: id, name_id, framework of texts of StringIds that are not their own name.
        """
        self.spoken = scratch / "spoken.parquet"
        self.other = scratch / "nvtx_other.parquet"
        self._registered = _Registered(registered)
        self._lock = threading.Lock()
        self._readers: dict[int, int] = {}
        self._written: set[str] = set()
        self._waiting: list[str] = []
        self._spoken = pq.ParquetWriter(self.spoken, _TEXT, compression="lz4")
        self._other = pq.ParquetWriter(self.other, columns, compression="lz4")

    def __enter__(self) -> Texts:
        """Return self; leaving completes the two files."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Complete the two files."""
        with self._lock:
            self._flush()
            self._spoken.close()
            self._other.close()

    def schema(self, columns: pa.Schema) -> pa.Schema:
        """Return the columns of what comes out."""
        kept = [column for column in columns if column.name != "text"]
        plain = pa.field("plain", pa.dictionary(pa.int32(), pa.string()))
        told = pa.field("framework", pa.bool_())
        return pa.schema([*kept, plain, told, pa.field("reader", pa.int32())])

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the ranges and marks of a batch."""
        kinds = batch.column("event_type").fill_null(_PUSH_POP)
        is_range = pc.is_in(kinds, _RANGES)
        if not pc.all(is_range).as_py():
            with self._lock:
                self._other.write_batch(batch.filter(pc.invert(is_range)))
            batch, kinds = batch.filter(is_range), kinds.filter(is_range)
        plain, carried = self._spoken_of(batch.column("text"))
        text_id, named = self._registered.names(batch.column("text_id"))
        columns = {name: batch.column(name) for name in batch.schema.names if name != "text"}
        columns |= {"event_type": kinds, "text_id": text_id, "plain": plain}
        columns["framework"] = pc.coalesce(carried, named)
        columns["reader"] = pa.array(np.full(len(batch), self._reader(), np.int32))
        return pa.RecordBatch.from_arrays(list(columns.values()), schema=self.schema(batch.schema))

    def _reader(self) -> int:
        with self._lock:
            return self._readers.setdefault(threading.get_ident(), len(self._readers))

    def _spoken_of(self, text: pa.Array) -> tuple[pa.DictionaryArray, pa.Array]:
        if text.null_count == len(text):
            empty = pa.nulls(len(text), pa.string()).dictionary_encode()
            return empty, pa.nulls(len(text), pa.bool_())
        # Names repeat from step to step: looked at once each, they cost a tenth.
        seen = text.dictionary_encode()
        written, plain = seen.dictionary, seen.dictionary
        if pc.any(pc.match_substring(written, " = ")).as_py():
            plain = pc.replace_substring_regex(written, _ADDED, "")
        plain = plain.dictionary_encode()
        self._collect(plain.dictionary.to_pylist())
        named = pc.match_substring_regex(plain.dictionary, _FRAMEWORK).take(plain.indices)
        framework = pc.or_(pc.match_substring(written, _CARRIED), named)
        names = plain.indices.take(seen.indices)
        return pa.DictionaryArray.from_arrays(names, plain.dictionary), framework.take(seen.indices)

    def _collect(self, texts: list[str]) -> None:
        with self._lock:
            new = [text for text in texts if text not in self._written]
            if len(self._written) > _REMEMBERED:
                self._written.clear()
            self._written.update(new)
            self._waiting += new
            if len(self._waiting) > _ROWS_AT_ONCE:
                self._flush()

    def _flush(self) -> None:
        if self._waiting:
            self._spoken.write_table(pa.table({"value": self._waiting}, schema=_TEXT))
            self._waiting = []


class _Registered:
    """What texts of StringIds stand for, where that is not themselves."""

    def __init__(self, registered: pa.Table) -> None:
        ids = registered["id"].to_numpy()
        order = np.argsort(ids)
        self._ids = ids[order]
        self._name_ids = registered["name_id"].to_numpy()[order]
        self._framework = registered["framework"].to_numpy()[order]

    def names(self, text_id: pa.Array) -> tuple[pa.Array, pa.Array]:
        """Return the name ids and whether a framework wrote them, NULL where nothing is told."""
        if not len(self._ids) or text_id.null_count == len(text_id):
            return text_id, pa.nulls(len(text_id), pa.bool_())
        ids = text_id.fill_null(0).to_numpy()
        at = np.minimum(np.searchsorted(self._ids, ids), len(self._ids) - 1)
        other = (self._ids[at] != ids) | text_id.is_null().to_numpy(zero_copy_only=False)
        name_ids = pa.array(np.where(other, ids, self._name_ids[at]))
        name_ids = pc.if_else(text_id.is_valid(), name_ids, None)
        return name_ids, pa.array(self._framework[at], mask=other)
