-- exposed: communication and copies that nothing hid, each instant owned by the op that ends last.
--
-- Question: which collective, which copy held the GPU up?
-- Grain:    one row per op and kept window
-- Needs:    lane_op, window_bucket, segment, island
-- Params:
--   $shift INTEGER   as window_bucket
-- Columns:
--   state        VARCHAR  comm or mem
--   step         INTEGER  step
--   start_ns     BIGINT   the op owns the time from here
--   end_ns       BIGINT   to here
--   op_start_ns  BIGINT   device start of the op
--   op_end_ns    BIGINT   device end of the op
--   kind         VARCHAR  as lane_op
--   name_id      BIGINT   as lane_op
--   context      BIGINT   as lane_op
--   stream       BIGINT   as lane_op
--   copy_kind    INTEGER  as lane_op
--   src_kind     INTEGER  as lane_op
--   dst_kind     INTEGER  as lane_op
--   correlation  BIGINT   as lane_op
--   exposed_ns   BIGINT   of the owned time, what nothing hid
WITH
_op AS (
    SELECT
        *,
        CASE WHEN comm THEN 'comm' ELSE 'mem' END AS state
    FROM lane_op
    WHERE (comm OR is_copy) AND end_ns > start_ns
),

_until AS (
    SELECT
        *,
        max(end_ns) OVER (
            PARTITION BY state ORDER BY start_ns, end_ns, stream, correlation
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS before_ns
    FROM _op
),

-- Who reaches further than everyone begun before owns the time until the next such op begins.
_owner AS (
    SELECT
        *,
        least(
            end_ns,
            coalesce(
                lead(start_ns) OVER (
                    PARTITION BY state ORDER BY start_ns, end_ns, stream, correlation
                ), end_ns
            )
        ) AS owned_until_ns
    FROM _until
    WHERE before_ns IS NULL OR end_ns > before_ns
),

_placed AS (
    SELECT
        o.*,
        b.segment,
        b.end_ns AS segment_end_ns
    FROM _owner AS o
    INNER JOIN window_bucket AS b
        ON o.start_ns >> $shift = b.slice AND o.start_ns >= b.start_ns AND o.start_ns < b.end_ns
    WHERE o.owned_until_ns > o.start_ns
),

_piece AS (
    SELECT
        *,
        start_ns AS from_ns,
        least(owned_until_ns, segment_end_ns) AS to_ns
    FROM _placed
    UNION ALL
    SELECT
        p.* EXCLUDE (segment, segment_end_ns),
        s.segment,
        s.end_ns AS segment_end_ns,
        s.start_ns AS from_ns,
        least(p.owned_until_ns, s.end_ns) AS to_ns
    FROM _placed AS p
    INNER JOIN segment AS s ON s.start_ns >= p.segment_end_ns AND s.start_ns < p.owned_until_ns
    WHERE p.owned_until_ns > p.segment_end_ns
),

_kept AS (
    SELECT
        p.*,
        s.step
    FROM _piece AS p
    INNER JOIN segment AS s ON p.segment = s.segment
    WHERE s.kept
),

_hidden AS (
    SELECT
        k.*,
        coalesce(a.covered_ns + least(k.from_ns, a.end_ns) - a.start_ns, 0) AS hidden_from_ns
    FROM _kept AS k
    ASOF LEFT JOIN island AS a ON k.state = a.state AND k.from_ns >= a.start_ns
),

_both AS (
    SELECT
        h.*,
        coalesce(a.covered_ns + least(h.to_ns, a.end_ns) - a.start_ns, 0) AS hidden_to_ns
    FROM _hidden AS h
    ASOF LEFT JOIN island AS a ON h.state = a.state AND h.to_ns >= a.start_ns
)

SELECT
    state,
    step,
    from_ns AS start_ns,
    to_ns AS end_ns,
    start_ns AS op_start_ns,
    end_ns AS op_end_ns,
    kind,
    name_id,
    context,
    stream,
    copy_kind,
    src_kind,
    dst_kind,
    correlation,
    (to_ns - from_ns - (hidden_to_ns - hidden_from_ns))::BIGINT AS exposed_ns
FROM _both
ORDER BY state, start_ns, stream, correlation
