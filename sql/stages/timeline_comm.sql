-- timeline_comm: the communication of one window of the timeline, and what of it is hidden.
--
-- Question: which collectives run mostly beside compute?
-- Grain:    one row per communication op
-- Needs:    timeline_op, island
-- Params:
--   $from_ns BIGINT   as timeline_op
--   $to_ns   BIGINT   as timeline_op
-- Columns:
--   (those of timeline_op, and)
--   hidden  BOOLEAN  at least half of it runs beside compute or an opaque graph
WITH
_comm AS (
    SELECT *
    FROM timeline_op
    WHERE comm
),

_cover AS (
    SELECT
        start_ns,
        end_ns,
        covered_ns
    FROM island
    WHERE start_ns < $to_ns AND end_ns > $from_ns
),

_hidden_from AS (
    SELECT
        c.*,
        a.covered_ns + least(c.from_ns, a.end_ns) - a.start_ns AS hidden_from_ns
    FROM _comm AS c
    ASOF LEFT JOIN _cover AS a ON c.from_ns >= a.start_ns
),

_hidden_until AS (
    SELECT
        h.*,
        a.covered_ns + least(h.until_ns, a.end_ns) - a.start_ns AS hidden_until_ns
    FROM _hidden_from AS h
    ASOF LEFT JOIN _cover AS a ON h.until_ns >= a.start_ns
)

SELECT
    * EXCLUDE (hidden_from_ns, hidden_until_ns),
    -- Slivers between two kernels expose a little of almost every hidden collective.
    2 * (
        coalesce(hidden_until_ns, (SELECT min(covered_ns) FROM _cover), 0)
        - coalesce(hidden_from_ns, (SELECT min(covered_ns) FROM _cover), 0)
    ) >= until_ns - from_ns AS hidden
FROM _hidden_until
