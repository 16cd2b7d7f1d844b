"""The user's own map: file, file#pid or file#pid#device -> rank."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from nsysflow.errors import UsageError
from nsysflow.find import trace_stem
from nsysflow.rank.lane import Seat

_MOST_LISTED = 10


class _Names:
    """Files by all the names a user may call them: path, path without form, last part alone."""

    def __init__(self, files: Iterable[str]) -> None:
        self.by_name: tuple[dict[str, set[str]], ...] = ({}, {}, {}, {})
        self.by_stem: dict[str, str] = {}
        for file in files:
            self.by_stem.setdefault(_stem_path(file), file)
            for table, name in zip(self.by_name, _names(file), strict=True):
                table.setdefault(name, set()).add(_stem_path(file))

    def file(self, name: str) -> str | None:
        """Return the one file that is meant, None if none or several are."""
        name = name.removeprefix("./")
        # With a folder in it, the name is of one place and of no other.
        tables = self.by_name[:2] if "/" in name else self.by_name
        for table, key in zip(tables, _names(name), strict=False):
            found = table.get(key, set())
            if len(found) == 1:
                return self.by_stem[next(iter(found))]
        return None


def check_rank_map(
    rank_map: Sequence[tuple[str, int]], files: Mapping[str, Sequence[str]] | Iterable[str]
) -> None:
    """Raise UsageError if the map names a file that the run does not have.

    ``files`` are those of the inputs, or a mapping from each to its twins, whose names count too.
    """
    twins = files if isinstance(files, Mapping) else dict.fromkeys(files, ())
    names = _Names([*twins, *(name for group in twins.values() for name in group)])
    for key, _rank in rank_map:
        if not any(names.file(reading[0]) for reading in _readings(key)):
            raise UsageError(
                f"the rank map names {key!r}, which is not in the run", hint=_list("it has", twins)
            )


def mapped_ranks(
    rank_map: Sequence[tuple[str, int]], seats: Sequence[Seat]
) -> dict[tuple[str, int], int]:
    """Return (trace, lane) -> rank as the user gave it; the narrower of two entries wins.

    Raises UsageError for an entry that fits no lane of its file, or that gives one rank to several
    processes at once.
    """
    names = _Names(sorted({seat.file for seat in seats}))
    by_file: dict[str, list[Seat]] = {}
    for seat in seats:
        by_file.setdefault(seat.file, []).append(seat)
    ranks: dict[tuple[str, int], tuple[int, int]] = {}
    for key, rank in rank_map:
        # A file that failed has no lanes; whether it is in the run at all was checked before.
        for file, *narrowing in _readings(key):
            found = names.file(file)
            if found is not None:
                pid_device = tuple(int(part) for part in narrowing)
                for seat in _fitting(key, by_file[found], pid_device):
                    ranks[seat.key] = max(ranks.get(seat.key, (-1, 0)), (len(narrowing), rank))
                break
    return {key: rank for key, (_width, rank) in ranks.items()}


def _readings(key: str) -> list[list[str]]:
    """Return the ways to split a key into file, pid, device: a # may belong to the file name."""
    splits = [key.rsplit("#", cut) for cut in range(3)]
    return [
        split
        for cut, split in enumerate(splits)
        if len(split) == cut + 1
        and split[0]
        and all(part.isascii() and part.isdigit() for part in split[1:])
    ]


def _names(file: str) -> tuple[str, str, str, str]:
    return file, _stem_path(file), file.rsplit("/", 1)[-1], trace_stem(file)


def _stem_path(file: str) -> str:
    folder, slash, _ = file.rpartition("/")
    return folder + slash + trace_stem(file)


def _fitting(key: str, seats: Sequence[Seat], narrowing: tuple[int, ...]) -> list[Seat]:
    fits = [seat for seat in seats if (seat.pid, seat.device)[: len(narrowing)] == narrowing]
    lanes = _list("in it", (f"#{seat.pid}#{seat.device}" for seat in seats))
    if not fits:
        raise UsageError(f"the rank map names {key!r}, which did no GPU work", hint=lanes)
    if len({seat.owner for seat in fits}) > 1:
        raise UsageError(
            f"the rank map gives one rank to several GPU processes of {seats[0].file!r}",
            hint=f"name each as file#pid; {lanes}",
        )
    return fits


def _list(where: str, names: Iterable[str]) -> str:
    names = list(names)
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    return f"{where} " + ", ".join(names[:_MOST_LISTED]) + more
