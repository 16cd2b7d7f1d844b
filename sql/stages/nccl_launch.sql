-- nccl_launch: what the launches inside an NCCL range stand for.
--
-- Question: which calls does a collective kernel carry out?
-- Grain:    one row per call outside a group; per communicator of each outermost group
-- Needs:    nccl_grouped, nccl_seat, nccl_sharer
-- Params:
--   $lane INTEGER   the lane
-- Columns:
--   thread     BIGINT   calling thread
--   start_ns   BIGINT   the range that encloses the launch: the call, or the end of its group
--   end_ns     BIGINT   its end
--   comm       VARCHAR  communicator; NULL if NCCL did not say
--   place      BIGINT   position of the communicator in its group, in the order of the program
--   comms      BIGINT   communicators of the group
--   op         VARCHAR  operation; generic if the group mixes several
--   bytes      BIGINT   per rank, as NCCL counts them for this operation
--   peer       INTEGER  the one peer of a send or receive
--   peers      VARCHAR  all peers of sends and receives, by comma
--   root       INTEGER  root
--   ranks      INTEGER  size of the communicator, where its creation was captured
--   comm_rank  INTEGER  this process in it, where its creation was captured
--   named      VARCHAR  what its name says it is for
WITH
_in_group AS (
    SELECT
        thread,
        group_no,
        comm,
        min(start_ns) AS first_ns,
        count(DISTINCT op) AS ops,
        min(op) AS op,
        count(DISTINCT peer) AS peers,
        min(peer) AS peer,
        max(peer) AS most_peer,
        CASE WHEN count(peer) = count(*) THEN array_to_string(list_sort(list(DISTINCT peer)), ',') END AS talk,
        max(root) AS root,
        count(*) AS calls,
        sum(bytes) AS bytes,
        max(bytes) AS most_bytes
    FROM nccl_grouped
    WHERE depth > 0 AND op NOT IN ('group_start', 'group_end')
    GROUP BY thread, group_no, comm
),

-- One thread may call for several GPUs of its process: a kernel carries out its own GPU's share.
_sharing AS (
    SELECT
        g.thread,
        g.group_no,
        g.comm,
        count(*) AS lanes
    FROM _in_group AS g
    INNER JOIN nccl_sharer AS s ON g.thread = s.thread AND g.group_no = s.group_no
    LEFT JOIN nccl_seat AS m ON g.comm = m.comm AND s.lane = m.lane
    WHERE g.comm IS NULL OR m.lane IS NOT NULL
    GROUP BY g.thread, g.group_no, g.comm
),

_own AS (
    SELECT
        g.*,
        CASE WHEN g.calls % h.lanes = 0 THEN h.lanes ELSE 1 END::BIGINT AS lanes,
        s.ranks,
        s.comm_rank,
        s.named
    FROM _in_group AS g
    LEFT JOIN _sharing AS h ON g.thread = h.thread AND g.group_no = h.group_no AND g.comm IS NOT DISTINCT FROM h.comm
    LEFT JOIN nccl_seat AS s ON g.comm = s.comm AND s.lane = $lane
    WHERE g.comm IS NULL OR s.lane IS NOT NULL
),

_placed AS (
    SELECT
        *,
        row_number() OVER (PARTITION BY thread, group_no ORDER BY first_ns, comm) AS place,
        count(*) OVER (PARTITION BY thread, group_no) AS comms,
        -- Sends and receives with every other member are an all-to-all. Where the number of members is
        -- not known, three peers or more without a gap are: rings and pipelines have two.
        op = 'send_recv' AND peers >= greatest(2, coalesce(ranks - 1, 3))
        AND (ranks IS NOT NULL OR most_peer <= peers)
        -- The neighbours of several GPUs together are many, those of each still two.
        AND (lanes = 1 OR calls >= 2 * lanes * greatest(2, coalesce(ranks, peers) - 1)) AS is_all_to_all
    FROM _own
),

_both AS (
    SELECT
        e.thread,
        e.start_ns,
        e.end_ns,
        p.comm,
        p.place,
        p.comms,
        CASE WHEN p.ops > 1 THEN 'generic' WHEN p.is_all_to_all THEN 'all_to_all' ELSE p.op END AS op,
        CASE
            WHEN p.is_all_to_all AND p.lanes = 1 THEN p.bytes // (2 * p.peers)
            WHEN p.is_all_to_all THEN p.bytes // p.calls
            WHEN p.op = 'send_recv' THEN p.most_bytes
            ELSE p.bytes // p.lanes
        END AS bytes,
        CASE WHEN p.peers = 1 AND p.lanes = 1 THEN p.peer END AS peer,
        CASE WHEN p.op = 'send_recv' AND p.ops = 1 AND p.lanes = 1 THEN p.talk END AS peers,
        p.root,
        p.ranks,
        p.comm_rank,
        p.named
    FROM nccl_grouped AS e
    INNER JOIN _placed AS p ON e.thread = p.thread AND e.group_no = p.group_no
    WHERE e.op = 'group_end' AND e.depth = 0
    UNION ALL
    SELECT
        c.thread,
        c.start_ns,
        c.end_ns,
        c.comm,
        1 AS place,
        1 AS comms,
        c.op,
        c.bytes,
        c.peer,
        CASE WHEN c.op = 'send_recv' THEN c.peer::VARCHAR END AS peers,
        c.root,
        s.ranks,
        s.comm_rank,
        s.named
    FROM nccl_grouped AS c
    LEFT JOIN nccl_seat AS s ON c.comm = s.comm AND s.lane = $lane
    WHERE c.depth = 0 AND c.op NOT IN ('group_start', 'group_end')
)

SELECT
    thread,
    start_ns,
    end_ns,
    comm,
    place,
    comms,
    op,
    bytes::BIGINT AS bytes,
    peer,
    peers,
    root,
    ranks,
    comm_rank,
    named
FROM _both
ORDER BY thread, start_ns, place
