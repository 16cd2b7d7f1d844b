-- nccl_launch: what the launches inside an NCCL range stand for.
--
-- Question: which calls does a collective kernel carry out?
-- Grain:    one row per call outside a group; per communicator of each outermost group
-- Needs:    nccl_call
-- Params:
--   $process BIGINT   the lane's process
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
_call AS (
    SELECT
        *,
        sum(CASE op WHEN 'group_start' THEN 1 WHEN 'group_end' THEN -1 ELSE 0 END) OVER _so_far AS raw
    FROM nccl_call
    WHERE process = $process AND op NOT IN ('comm_init', 'comm_split', 'comm_destroy') AND end_ns IS NOT NULL
    WINDOW _so_far AS (
        PARTITION BY thread ORDER BY start_ns, end_ns DESC, op, comm, peer
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    )
),

-- A capture that begins inside a group sees an end without its start.
_nested AS (
    SELECT
        *,
        raw - least(
            0,
            min(raw) OVER (
                PARTITION BY thread ORDER BY start_ns, end_ns DESC, op, comm, peer
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            )
        ) AS depth
    FROM _call
),

_grouped AS (
    SELECT
        *,
        coalesce(
            sum((op = 'group_end' AND depth = 0)::INTEGER) OVER (
                PARTITION BY thread ORDER BY start_ns, end_ns DESC, op, comm, peer
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ), 0
        ) AS group_no
    FROM _nested
),

_size AS (
    SELECT
        comm,
        max(ranks) AS ranks,
        max(rank) AS comm_rank,
        max(group_kind(comm_name)) AS named
    FROM nccl_call
    WHERE process = $process AND comm IS NOT NULL
    GROUP BY comm
),

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
        sum(bytes) AS bytes,
        max(bytes) AS most_bytes
    FROM _grouped
    WHERE depth > 0 AND op NOT IN ('group_start', 'group_end')
    GROUP BY thread, group_no, comm
),

_placed AS (
    SELECT
        g.*,
        row_number() OVER (PARTITION BY g.thread, g.group_no ORDER BY g.first_ns, g.comm) AS place,
        count(*) OVER (PARTITION BY g.thread, g.group_no) AS comms,
        s.ranks,
        s.comm_rank,
        s.named,
        -- Sends and receives with every other member are an all-to-all. Where the number of members is
        -- not known, three peers or more without a gap are: rings and pipelines have two.
        g.op = 'send_recv' AND g.peers >= greatest(2, coalesce(s.ranks - 1, 3))
        AND (s.ranks IS NOT NULL OR g.most_peer <= g.peers) AS is_all_to_all
    FROM _in_group AS g
    LEFT JOIN _size AS s ON g.comm = s.comm
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
            WHEN p.is_all_to_all THEN p.bytes // (2 * p.peers)
            WHEN p.op = 'send_recv' THEN p.most_bytes
            ELSE p.bytes
        END AS bytes,
        CASE WHEN p.peers = 1 THEN p.peer END AS peer,
        CASE WHEN p.op = 'send_recv' AND p.ops = 1 THEN p.talk END AS peers,
        p.root,
        p.ranks,
        p.comm_rank,
        p.named
    FROM _grouped AS e
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
    FROM _grouped AS c
    LEFT JOIN _size AS s ON c.comm = s.comm
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
