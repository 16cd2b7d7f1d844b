-- nccl_seat: what the GPUs of a process are in its communicators.
--
-- Question: which rank of a communicator is this GPU?
-- Grain:    one row per lane of the process and communicator that it may be in
-- Needs:    nccl_call, lane
-- Params:
--   $process BIGINT   the lane's process
-- Columns:
--   lane       INTEGER
--   comm       VARCHAR  communicator
--   ranks      INTEGER  its size, where its creation was captured
--   comm_rank  INTEGER  the lane in it, where its creation was captured
--   named      VARCHAR  what its name says it is for
WITH
_lane AS (
    SELECT
        lane,
        device,
        count(*) OVER () AS lanes
    FROM lane
    WHERE process = $process
),

_comm AS (
    SELECT
        comm,
        max(ranks) AS ranks,
        max(rank) AS only_rank,
        count(DISTINCT rank) AS seats,
        max(group_kind(comm_name)) AS named
    FROM nccl_call
    WHERE process = $process AND comm IS NOT NULL
    GROUP BY comm
),

-- One process may hold several ranks, one for each of its GPUs: only the device tells them apart.
_own AS (
    SELECT
        comm,
        device,
        CASE WHEN count(DISTINCT rank) = 1 THEN max(rank) END AS comm_rank
    FROM nccl_call
    WHERE process = $process AND comm IS NOT NULL AND device IS NOT NULL AND rank IS NOT NULL
    GROUP BY comm, device
),

_known AS (
    SELECT
        comm,
        count(*) AS devices
    FROM _own
    GROUP BY comm
)

SELECT
    l.lane,
    c.comm,
    c.ranks,
    CASE WHEN l.lanes = 1 THEN c.only_rank ELSE o.comm_rank END AS comm_rank,
    c.named
FROM _lane AS l
CROSS JOIN _comm AS c
LEFT JOIN _known AS k ON c.comm = k.comm
LEFT JOIN _own AS o ON c.comm = o.comm AND l.device = o.device
-- Where the devices of all ranks that are here are known, no other device is a member.
WHERE l.lanes = 1 OR o.device IS NOT NULL OR coalesce(k.devices, 0) < greatest(c.seats, 1)
