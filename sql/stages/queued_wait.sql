-- queued_wait: gaps in which a queued op waited for an event, and until when.
--
-- Question: what did an op wait for that the host had long asked for?
-- Grain:    one row per gap whose op waited, with the last event that it waited for
-- Needs:    queued_gap, sync, cuda_event, api, string, op
-- Params:
--   $process    BIGINT   the lane's process
--   $lane       INTEGER  the lane
--   $first_lane INTEGER  first lane of the process in its trace
--   $last_lane  INTEGER  its last lane; the lanes of a process are numbered together
-- Columns:
--   gap       BIGINT  as gap
--   start_ns  BIGINT  first queued instant
--   end_ns    BIGINT  the event was reached: later it explains nothing
--   name_id   BIGINT  name of the last kernel before the event, NULL where only its time is known
WITH
-- A gap that a window's edge cuts is there twice, its op once.
_op AS (
    SELECT DISTINCT
        context,
        stream,
        launch_start_ns
    FROM queued_gap
),

_event AS (
    SELECT *
    FROM cuda_event
    WHERE process = $process
    -- A number that several recordings carry tells none of them.
    QUALIFY count(*) OVER (PARTITION BY event_sync) = 1
),

_waiting AS (
    SELECT
        s.context,
        s.stream,
        s.start_ns,
        s.event_sync,
        s.correlation
    FROM sync AS s
    WHERE
        s.process = $process
        AND s.event_sync IS NOT NULL
        -- What writes no stream waits on the host.
        AND s.stream IS NOT NULL AND s.stream <> 4294967295
        AND s.event IS NOT NULL AND s.event <> 4294967295
        AND EXISTS (SELECT 1 FROM queued_gap)
        AND s.event_sync IN (SELECT event_sync FROM _event)
),

_named AS (
    SELECT
        a.correlation,
        any_value(s.value ORDER BY a.start_ns, a.end_ns DESC) AS name
    FROM api AS a
    SEMI JOIN _waiting AS w ON a.correlation = w.correlation
    INNER JOIN string AS s ON a.name_id = s.id
    WHERE a.process = $process
    GROUP BY a.correlation
),

-- The op that a wait holds is the next one asked for on the stream. Where another came first the
-- event was reached before that one ran, so before the gap, and nothing comes of it below.
_held AS (
    SELECT
        w.event_sync,
        x.context,
        x.stream,
        x.launch_start_ns
    FROM _waiting AS w
    LEFT JOIN _named AS n ON w.correlation = n.correlation
    ASOF INNER JOIN _op AS x
        ON w.context = x.context AND w.stream = x.stream AND w.start_ns <= x.launch_start_ns
    -- The number of the kind is not to be trusted; the call's name is.
    WHERE coalesce(regexp_matches(n.name, '^cu(da)?StreamWaitEvent'), TRUE)
),

_record AS (
    SELECT
        a.gap,
        a.start_ns,
        a.end_ns,
        a.idle_end_ns,
        e.context,
        e.stream,
        e.correlation,
        e.at_ns
    FROM _held AS h
    INNER JOIN queued_gap AS a
        ON h.context = a.context AND h.stream = a.stream AND h.launch_start_ns = a.launch_start_ns
    INNER JOIN _event AS e ON h.event_sync = e.event_sync
),

_recorded AS (
    SELECT
        a.correlation,
        min(a.start_ns) AS start_ns
    FROM api AS a
    SEMI JOIN _record AS r ON a.correlation = r.correlation
    WHERE a.process = $process
    GROUP BY a.correlation
),

-- This lane is idle in the gap: work that an event still waits for runs on another GPU.
_work AS (
    SELECT
        o.context,
        o.stream,
        o.launch_start_ns,
        o.end_ns,
        o.name_id
    FROM op AS o
    SEMI JOIN _record AS r ON o.context = r.context AND o.stream = r.stream
    WHERE
        o.lane BETWEEN $first_lane AND $last_lane
        AND o.lane <> $lane
        AND o.launch_start_ns IS NOT NULL
),

_produced AS (
    SELECT
        r.gap,
        r.start_ns,
        r.end_ns,
        r.idle_end_ns,
        w.end_ns AS reached_ns,
        w.name_id
    FROM (
        SELECT
            r.*,
            c.start_ns AS record_ns
        FROM _record AS r
        INNER JOIN _recorded AS c ON r.correlation = c.correlation
        WHERE r.at_ns IS NULL
    ) AS r
    ASOF INNER JOIN _work AS w
        ON r.context = w.context AND r.stream = w.stream AND r.record_ns >= w.launch_start_ns
),

_reached AS (
    SELECT * FROM _produced
    UNION ALL
    SELECT
        gap,
        start_ns,
        end_ns,
        idle_end_ns,
        at_ns,
        NULL
    FROM _record
    WHERE at_ns IS NOT NULL
)

SELECT
    gap,
    start_ns,
    least(reached_ns, end_ns) AS end_ns,
    name_id
FROM _reached
-- An event reached after the op began is not what it waited for.
WHERE reached_ns > start_ns AND reached_ns <= idle_end_ns
QUALIFY row_number() OVER (PARTITION BY gap ORDER BY reached_ns DESC, name_id) = 1
ORDER BY start_ns
