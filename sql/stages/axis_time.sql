-- axis_time: compute time along one axis, class or phase; an instant with several kernels goes to
-- the first place in order.
--
-- Question: what did the GPU compute, or for what?
-- Grain:    one row per kept step and place
-- Needs:    axis_kernel, window_bucket, segment
-- Params:
--   $shift INTEGER   as window_bucket
-- Columns:
--   step     INTEGER  step
--   place    UTINYINT place on the axis
--   time_ns  BIGINT   time
WITH
_placed AS (
    SELECT
        k.*,
        b.segment,
        b.end_ns AS segment_end_ns
    FROM axis_kernel AS k
    INNER JOIN window_bucket AS b
        ON k.start_ns >> $shift = b.slice AND k.start_ns >= b.start_ns AND k.start_ns < b.end_ns
),

_piece AS (
    SELECT
        segment,
        place,
        alone,
        start_ns,
        least(end_ns, segment_end_ns) AS end_ns
    FROM _placed
    UNION ALL
    SELECT
        s.segment,
        p.place,
        p.alone,
        s.start_ns,
        least(p.end_ns, s.end_ns)
    FROM _placed AS p
    INNER JOIN segment AS s ON s.start_ns >= p.segment_end_ns AND s.start_ns < p.end_ns
    WHERE p.end_ns > p.segment_end_ns
),

_alone AS (
    SELECT
        segment,
        place,
        sum(end_ns - start_ns) AS time_ns
    FROM _piece
    WHERE alone
    GROUP BY ALL
),

_rank AS (
    SELECT DISTINCT place
    FROM _piece
    WHERE NOT alone
),

-- The time of "this place or an earlier one" is a union; a place gets what it adds to the earlier ones.
_nested AS (
    SELECT
        p.segment,
        r.place,
        p.start_ns,
        p.end_ns,
        max(p.end_ns) OVER (
            PARTITION BY p.segment, r.place ORDER BY p.start_ns, p.end_ns
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS before_ns
    FROM _piece AS p
    INNER JOIN _rank AS r ON p.place <= r.place
    WHERE NOT p.alone
),

_union AS (
    SELECT
        segment,
        place,
        sum(greatest(0, end_ns - greatest(start_ns, coalesce(before_ns, start_ns)))) AS union_ns
    FROM _nested
    GROUP BY ALL
),

_crowded AS (
    SELECT
        segment,
        place,
        union_ns - coalesce(lag(union_ns) OVER (PARTITION BY segment ORDER BY place), 0) AS time_ns
    FROM _union
),

_both AS (
    SELECT * FROM _alone
    UNION ALL
    SELECT * FROM _crowded
)

SELECT
    s.step,
    c.place,
    sum(c.time_ns)::BIGINT AS time_ns
FROM _both AS c
INNER JOIN segment AS s ON c.segment = s.segment
WHERE s.kept
GROUP BY ALL
HAVING sum(c.time_ns) > 0
ORDER BY s.step, c.place
