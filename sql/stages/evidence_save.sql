-- evidence_save: a launching thread that fetches a gigabyte and writes files saves a checkpoint.
--
-- Question: which unannotated activity saves the model?
-- Grain:    one row per fetching call and per write
-- Needs:    lane_op, os_call, string
-- Columns:
--   thread    BIGINT   thread
--   start_ns  BIGINT   call
--   end_ns    BIGINT   return
--   name_id   BIGINT   name of the call
WITH
_copy AS (
    SELECT
        launch_thread AS thread,
        launch_start_ns AS start_ns,
        launch_end_ns AS end_ns,
        launch_name_id AS name_id,
        bytes,
        max(launch_end_ns) OVER (
            PARTITION BY launch_thread
            ORDER BY launch_start_ns, launch_end_ns, correlation
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS before_ns,
        correlation
    FROM lane_op
    WHERE kind = 'memcpy' AND copy_kind = 2 AND launch_start_ns IS NOT NULL
),

_numbered AS (
    SELECT
        *,
        -- A tenth of a second without a fetch ends a burst.
        count(*) FILTER (WHERE start_ns - before_ns > 100000000) OVER (
            PARTITION BY thread
            ORDER BY start_ns, end_ns, correlation
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS burst
    FROM _copy
),

_burst AS (
    SELECT
        thread,
        burst,
        min(start_ns) AS start_ns,
        max(end_ns) AS end_ns
    FROM _numbered
    GROUP BY thread, burst
    HAVING sum(bytes) >= 1000000000
),

_write AS (
    SELECT
        b.thread,
        b.burst,
        o.start_ns,
        o.end_ns,
        o.name_id
    FROM os_call AS o
    SEMI JOIN (
        SELECT id
        FROM string
        WHERE regexp_full_match(value, 'p?writev?(64)?|fwrite|fflush|fsync|fdatasync|sync_file_range|msync')
    ) AS n ON o.name_id = n.id
    INNER JOIN _burst AS b
        -- What was fetched is written while the next tensors come, or soon after the last.
        ON o.thread = b.thread AND o.start_ns >= b.start_ns AND o.start_ns <= b.end_ns + 1000000000
)

SELECT
    thread,
    start_ns,
    end_ns,
    name_id
FROM _write
UNION ALL
SELECT
    c.thread,
    c.start_ns,
    c.end_ns,
    c.name_id
FROM _numbered AS c
SEMI JOIN _write AS w ON c.thread = w.thread AND c.burst = w.burst
