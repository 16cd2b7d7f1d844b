-- graph_lost: replays of graphs that were asked for, and those of which nothing is in the capture.
--
-- Question: did the GPU run graphs that this capture does not hold?
-- Grain:    one row
-- Needs:    _api, _op, string
-- Params:
-- Columns:
--   launches  BIGINT  calls that replay a graph without error, before the last recorded replay ended
--   lost      BIGINT  of them without any device work under their correlation
WITH
_name AS (
    SELECT id
    FROM string
    WHERE regexp_matches(value, '^cu(da)?GraphLaunch')
),

_last AS (
    SELECT
        process,
        max(end_ns) AS end_ns
    FROM _op
    WHERE kind = 'graph' AND fault IS NULL
    GROUP BY process
    -- Where some rows do not tell their launch, none can be missed.
    HAVING bool_and(correlation IS NOT NULL)
),

_launch AS (
    SELECT DISTINCT
        a.process,
        a.correlation
    FROM _api AS a
    INNER JOIN _last AS l ON a.process = l.process AND a.end_ns <= l.end_ns
    SEMI JOIN _name AS n ON a.name_id = n.id
    WHERE a.correlation IS NOT NULL AND coalesce(a.return_value, 0) = 0
),

_done AS (
    SELECT DISTINCT
        process,
        correlation
    FROM _op
)

SELECT
    count(*) AS launches,
    count(*) FILTER (WHERE d.process IS NULL) AS lost
FROM _launch AS a
LEFT JOIN _done AS d ON a.process = d.process AND a.correlation = d.correlation
