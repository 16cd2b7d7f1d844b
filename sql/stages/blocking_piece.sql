-- blocking_piece: the same waits without overlaps: an instant is in the call that began last.
--
-- Question: in which call does a thread wait at each instant?
-- Grain:    one row per stretch of a call
-- Needs:    blocking_call
-- Columns:
--   thread    BIGINT   the waiting thread
--   call      BIGINT   as blocking_call
--   start_ns  BIGINT   first instant
--   end_ns    BIGINT   first instant after
WITH
_point AS (
    SELECT
        thread,
        start_ns AS at_ns
    FROM blocking_call
    UNION
    SELECT
        thread,
        end_ns
    FROM blocking_call
),

_stretch AS (
    SELECT
        thread,
        at_ns AS start_ns,
        lead(at_ns) OVER (PARTITION BY thread ORDER BY at_ns) AS end_ns
    FROM _point
),

_outer AS (
    SELECT
        thread,
        start_ns,
        call,
        end_ns,
        -- The call that reaches furthest so far encloses whatever has ended inside it.
        arg_max(call, end_ns) OVER (
            PARTITION BY thread ORDER BY start_ns, end_ns DESC, call
        ) AS outer_call,
        max(end_ns) OVER (
            PARTITION BY thread ORDER BY start_ns, end_ns DESC, call
        ) AS outer_end_ns
    FROM blocking_call
),

_owner AS (
    SELECT *
    FROM _outer
    -- Of calls that begin together the shortest is the innermost.
    QUALIFY row_number() OVER (PARTITION BY thread, start_ns ORDER BY end_ns, call DESC) = 1
)

SELECT
    s.thread,
    CASE WHEN o.end_ns > s.start_ns THEN o.call ELSE o.outer_call END AS call,
    s.start_ns,
    s.end_ns
FROM _stretch AS s
ASOF INNER JOIN _owner AS o ON s.thread = o.thread AND s.start_ns >= o.start_ns
WHERE s.end_ns IS NOT NULL AND greatest(o.end_ns, o.outer_end_ns) > s.start_ns
ORDER BY s.thread, s.start_ns
