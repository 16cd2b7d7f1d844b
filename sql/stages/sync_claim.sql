-- sync_claim: idle time that a blocking call caused: inside the call, or in its shadow.
--
-- Question: which wait of the host left the GPU without work?
-- Grain:    one row per stretch of a gap
-- Needs:    gap_cut, blocking_piece, blocking_call
-- Params:
--   $shadow_ns BIGINT   a call that ended this little before the gap still explains it
-- Columns:
--   gap       BIGINT   as gap
--   step      INTEGER  as gap
--   call      BIGINT   as blocking_call
--   shadow    BOOLEAN  after the call: the queue it drained is being filled again
--   start_ns  BIGINT   first instant
--   end_ns    BIGINT   first instant after
WITH
_late AS (
    SELECT
        gap,
        step,
        thread,
        start_ns,
        host_until_ns AS end_ns,
        idle_start_ns
    FROM gap_cut
    WHERE host_until_ns > start_ns
),

-- Both sides are free of overlaps on a thread, so every pair meets where one of the two begins.
_inside AS (
    SELECT
        h.gap,
        h.step,
        p.call,
        p.start_ns,
        least(p.end_ns, h.end_ns) AS end_ns
    FROM blocking_piece AS p
    ASOF INNER JOIN _late AS h ON p.thread = h.thread AND p.start_ns >= h.start_ns
    WHERE p.start_ns < h.end_ns
    UNION ALL
    SELECT
        h.gap,
        h.step,
        p.call,
        h.start_ns,
        least(p.end_ns, h.end_ns) AS end_ns
    FROM _late AS h
    ASOF INNER JOIN blocking_piece AS p ON h.thread = p.thread AND h.start_ns > p.start_ns
    WHERE p.end_ns > h.start_ns
),

_caster AS (
    SELECT
        h.gap,
        h.step,
        h.start_ns,
        h.end_ns,
        p.call,
        c.end_ns AS call_end_ns
    FROM _late AS h
    ASOF INNER JOIN blocking_piece AS p ON h.thread = p.thread AND h.idle_start_ns >= p.start_ns
    INNER JOIN blocking_call AS c ON p.call = c.call
    WHERE p.end_ns >= h.idle_start_ns - $shadow_ns
),

_edge AS (
    SELECT
        gap,
        start_ns,
        end_ns
    FROM _inside
    UNION ALL
    SELECT
        gap,
        end_ns,
        end_ns
    FROM _caster
),

_free AS (
    SELECT
        c.gap,
        c.step,
        c.call,
        greatest(
            c.call_end_ns,
            coalesce(lag(e.end_ns) OVER (PARTITION BY c.gap ORDER BY e.start_ns, e.end_ns), c.start_ns)
        ) AS start_ns,
        e.start_ns AS end_ns
    FROM _caster AS c
    INNER JOIN _edge AS e ON c.gap = e.gap
),

_used AS (
    SELECT
        call,
        sum(end_ns - start_ns) AS inside_ns
    FROM _inside
    GROUP BY call
),

_shadow AS (
    SELECT
        f.gap,
        f.step,
        f.call,
        f.start_ns,
        f.end_ns,
        -- Without the call the host could not have been further ahead than the call lasted.
        c.end_ns - c.start_ns - coalesce(u.inside_ns, 0)
        - coalesce(
            sum(f.end_ns - f.start_ns) OVER (
                PARTITION BY f.call ORDER BY f.start_ns
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ), 0
        ) AS left_ns
    FROM _free AS f
    INNER JOIN blocking_call AS c ON f.call = c.call
    LEFT JOIN _used AS u ON f.call = u.call
    WHERE f.end_ns > f.start_ns
)

SELECT
    gap,
    step,
    call,
    FALSE AS shadow,
    start_ns,
    end_ns
FROM _inside
UNION ALL
SELECT
    gap,
    step,
    call,
    TRUE,
    start_ns,
    least(end_ns, start_ns + left_ns)::BIGINT
FROM _shadow
WHERE left_ns > 0
ORDER BY start_ns, call
