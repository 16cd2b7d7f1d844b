-- timeline_launcher: the threads that asked for the work of one window of the timeline.
--
-- Question: whose calls belong beside this work?
-- Grain:    one row per thread
-- Needs:    timeline_op, thread
-- Columns:
--   thread    BIGINT   thread
--   launches  BIGINT   ops it asked for
--   first_ns  BIGINT   start of its first launching call
--   last_ns   BIGINT   start of its last
--   tid       BIGINT   as the operating system counts
--   name      VARCHAR  name of the thread, NULL if not recorded
WITH
_launcher AS (
    SELECT
        launch_thread AS thread,
        count(*) AS launches,
        min(launch_start_ns) AS first_ns,
        max(launch_start_ns) AS last_ns
    FROM timeline_op
    WHERE launch_thread IS NOT NULL
    GROUP BY launch_thread
),

_name AS (
    SELECT
        thread,
        min(tid) AS tid,
        min(name) AS name
    FROM thread
    GROUP BY thread
)

SELECT
    l.thread,
    l.launches,
    l.first_ns,
    l.last_ns,
    coalesce(n.tid, l.thread & 16777215) AS tid,
    n.name
FROM _launcher AS l
LEFT JOIN _name AS n ON l.thread = n.thread
ORDER BY l.launches DESC, l.thread
