-- streams: what each stream carried inside the kept steps.
--
-- Question: how busy is each stream?
-- Grain:    one row per (context, stream)
-- Needs:    lane_op, segment, window_bucket
-- Params:
--   $shift INTEGER   as window_bucket
-- Columns:
--   context  BIGINT  CUDA context
--   stream   BIGINT  CUDA stream
--   count    BIGINT  ops that run inside a kept window
--   compute  BIGINT  of those, compute kernels and graph rows
--   comm     BIGINT  of those, communication
--   copy     BIGINT  of those, copies and sets
--   busy_ns  BIGINT  time inside the kept windows in which the stream ran something
WITH
_placed AS (
    SELECT
        o.context,
        o.stream,
        o.start_ns,
        o.end_ns,
        o.is_compute OR o.is_graph AS compute,
        o.comm,
        o.is_copy,
        b.segment,
        b.end_ns AS segment_end_ns
    FROM lane_op AS o
    INNER JOIN window_bucket AS b
        ON o.start_ns >> $shift = b.slice AND o.start_ns >= b.start_ns AND o.start_ns < b.end_ns
),

_piece AS (
    SELECT
        *,
        start_ns AS from_ns,
        least(end_ns, segment_end_ns) AS to_ns,
        TRUE AS begins
    FROM _placed
    UNION ALL
    SELECT
        p.* EXCLUDE (segment, segment_end_ns),
        s.segment,
        s.end_ns AS segment_end_ns,
        s.start_ns AS from_ns,
        least(p.end_ns, s.end_ns) AS to_ns,
        FALSE AS begins
    FROM _placed AS p
    INNER JOIN segment AS s ON s.start_ns >= p.segment_end_ns AND s.start_ns < p.end_ns
    WHERE p.end_ns > p.segment_end_ns
),

_until AS (
    SELECT
        p.*,
        max(p.to_ns) OVER (
            PARTITION BY p.context, p.stream ORDER BY p.from_ns, p.to_ns
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS before_ns
    FROM _piece AS p
    INNER JOIN segment AS s ON p.segment = s.segment
    WHERE s.kept
)

SELECT
    context,
    stream,
    count(*) FILTER (WHERE begins) AS count,
    count(*) FILTER (WHERE compute) AS compute,
    count(*) FILTER (WHERE comm) AS comm,
    count(*) FILTER (WHERE is_copy) AS copy,
    sum(greatest(0, to_ns - greatest(from_ns, coalesce(before_ns, from_ns))))::BIGINT AS busy_ns
FROM _until
GROUP BY context, stream
ORDER BY busy_ns DESC, stream, context
