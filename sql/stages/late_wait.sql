-- late_wait: waits of the launching thread while the first batch of a step was missing.
--
-- Question: was the host waiting for data when the GPU fell idle?
-- Grain:    one row per wait and gap
-- Needs:    gap, os_call, string, step_compute
-- Columns:
--   gap       BIGINT  as gap
--   thread    BIGINT  the launching thread
--   start_ns  BIGINT  first instant of the wait inside the gap
--   end_ns    BIGINT  first instant after
--   name_id   BIGINT  name of the call
WITH
_name AS (
    SELECT id AS name_id
    FROM string
    WHERE
        regexp_full_match(
            value,
            'p?poll(_chk)?|__poll_chk|p?select|epoll_p?wait2?|read|readv|recv|recvfrom|recvmsg|futex'
            || '|pthread_cond_(timed)?wait|pthread_cond_clockwait|sem_(timed|clock)?wait'
            || '|sem_timedwait|nanosleep|clock_nanosleep'
        )
),

-- A gap touches the step's start while no kernel of the step has begun.
_first AS (
    SELECT
        g.gap,
        g.thread,
        g.start_ns,
        g.host_until_ns
    FROM gap AS g
    INNER JOIN step_compute AS c ON g.step = c.step
    WHERE g.next_to_device AND g.host_until_ns > g.start_ns AND g.start_ns < c.start_ns
)

SELECT
    f.gap,
    f.thread,
    greatest(f.start_ns, o.start_ns) AS start_ns,
    least(f.host_until_ns, o.end_ns) AS end_ns,
    o.name_id
FROM os_call AS o
SEMI JOIN _name AS n ON o.name_id = n.name_id
INNER JOIN _first AS f
    ON o.thread = f.thread AND o.start_ns < f.host_until_ns AND o.end_ns > f.start_ns
ORDER BY start_ns, end_ns, f.gap
