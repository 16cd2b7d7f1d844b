-- timeline_call: CUDA calls of the launching threads during one window of the timeline.
--
-- Question: what did the host ask of CUDA meanwhile?
-- Grain:    one row per call
-- Needs:    api, string, blocking_call, timeline_row
-- Params:
--   $from_ns BIGINT   as timeline_op
--   $to_ns   BIGINT   as timeline_op
-- Columns:
--   row         INTEGER  as timeline_row
--   class       VARCHAR  launch, blocking or call
--   name        BIGINT   name of the call
--   start_ns    BIGINT   first instant inside the window
--   end_ns      BIGINT   first instant after
--   n           BIGINT   1
--   covered_ns  BIGINT   time that no earlier call of the thread covers
--   whole       BOOLEAN  FALSE
WITH
_call AS (
    SELECT
        r.row,
        a.thread,
        a.start_ns,
        a.end_ns,
        a.name_id
    FROM api AS a
    INNER JOIN timeline_row AS r ON r.kind = 'calls' AND a.thread = r.thread
    WHERE
        a.start_ns < $to_ns
        AND a.end_ns >= $from_ns
        AND (a.end_ns > $from_ns OR a.start_ns = a.end_ns)
),

_wait AS (
    SELECT DISTINCT
        thread,
        start_ns,
        end_ns,
        name_id
    FROM blocking_call
    WHERE start_ns < $to_ns AND end_ns > $from_ns
),

_name AS (
    SELECT id
    FROM string
    WHERE value LIKE 'cu%Launch%'
),

_known AS (
    SELECT
        c.row,
        CASE
            WHEN w.thread IS NOT NULL THEN 'blocking'
            WHEN n.id IS NOT NULL THEN 'launch'
            ELSE 'call'
        END AS class,
        c.name_id AS name,
        greatest(c.start_ns, $from_ns) AS start_ns,
        least(c.end_ns, $to_ns) AS end_ns
    FROM _call AS c
    LEFT JOIN _wait AS w
        ON
            c.thread = w.thread
            AND c.start_ns = w.start_ns
            AND c.end_ns = w.end_ns
            AND c.name_id IS NOT DISTINCT FROM w.name_id
    LEFT JOIN _name AS n ON c.name_id = n.id
)

SELECT
    *,
    1 AS n,
    newly_covered(
        end_ns,
        max(end_ns) OVER (
            PARTITION BY row ORDER BY start_ns, end_ns DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ),
        start_ns
    )::BIGINT AS covered_ns,
    FALSE AS whole
FROM _known
