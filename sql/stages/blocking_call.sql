-- blocking_call: CUDA calls in which a thread waits for the GPU.
--
-- Question: where does the host wait for the device?
-- Grain:    one row per call
-- Needs:    api, string, lane_op
-- Params:
--   $process BIGINT   the lane's process
-- Columns:
--   call       BIGINT   number, by thread and time
--   thread     BIGINT   the waiting thread
--   start_ns   BIGINT   call
--   end_ns     BIGINT   return
--   name_id    BIGINT   name of the call
--   callchain  BIGINT   where in the program it was made, NULL if not recorded
--   kind       VARCHAR  item_copy, stream_sync, device_sync, event_sync, sync_memcpy or pageable_copy
--   bytes      BIGINT   size of the copy, NULL without one
--   copy_kind  INTEGER  kind of the copy
WITH
_name AS (
    SELECT
        id AS name_id,
        CASE
            WHEN regexp_matches(value, '^(cudaStreamSynchronize|cuStreamSynchronize)') THEN 'stream_sync'
            WHEN
                regexp_matches(value, '^(cudaDeviceSynchronize|cudaThreadSynchronize|cuCtxSynchronize)')
                THEN 'device_sync'
            WHEN regexp_matches(value, '^(cudaEventSynchronize|cuEventSynchronize)') THEN 'event_sync'
            WHEN
                regexp_matches(value, '^cu(da)?Memcpy') AND NOT regexp_matches(value, 'Async|Batch|Get|Peer')
                THEN 'sync_memcpy'
            WHEN regexp_matches(value, '^cu(da)?Memcpy.*Async') THEN 'async_copy'
        END AS kind
    FROM string
    WHERE value LIKE 'cu%'
),

_call AS (
    SELECT
        a.thread,
        a.start_ns,
        a.end_ns,
        a.name_id,
        a.callchain,
        n.kind,
        max(CASE WHEN n.kind <> 'async_copy' THEN a.start_ns END) OVER (
            PARTITION BY a.thread
            ORDER BY a.start_ns, a.end_ns DESC, a.name_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS waited_ns
    FROM api AS a
    INNER JOIN _name AS n ON a.name_id = n.name_id
    WHERE a.process = $process AND n.kind IS NOT NULL AND a.end_ns > a.start_ns
),

_copy AS (
    SELECT
        launch_thread AS thread,
        launch_start_ns AS start_ns,
        launch_end_ns AS end_ns,
        max(bytes) AS bytes,
        any_value(copy_kind ORDER BY bytes DESC, copy_kind) AS copy_kind,
        -- With a pageable side the call itself carries the copy through, if it lasts that long.
        bool_or(
            (src_kind = 0 OR dst_kind = 0) AND launch_start_ns <= start_ns AND launch_end_ns >= end_ns
        ) AS spans
    FROM lane_op
    WHERE kind = 'memcpy' AND launch_start_ns IS NOT NULL
    GROUP BY launch_thread, launch_start_ns, launch_end_ns
),

_fetch AS (
    SELECT
        thread,
        start_ns,
        end_ns,
        bytes,
        copy_kind
    FROM _copy
    -- What .item() and its kin fetch; a larger copy is a transfer that someone meant to wait for.
    WHERE copy_kind = 2 AND bytes <= 4096
),

_paired AS (
    SELECT
        c.*,
        f.bytes AS fetched_bytes,
        f.copy_kind AS fetched_kind,
        -- The first wait after a fetch is for it; the next one waits for the rest of the work.
        c.kind IN ('stream_sync', 'device_sync', 'event_sync')
        AND c.start_ns - f.end_ns <= 50000
        AND (c.waited_ns IS NULL OR c.waited_ns < f.start_ns) AS fetches
    FROM _call AS c
    ASOF LEFT JOIN _fetch AS f ON c.thread = f.thread AND c.start_ns >= f.end_ns
),

_wait AS (
    SELECT
        thread,
        start_ns,
        end_ns,
        name_id,
        callchain,
        CASE
            WHEN fetches THEN 'item_copy'
            WHEN kind = 'async_copy' THEN 'pageable_copy'
            ELSE kind
        END AS kind,
        CASE WHEN fetches THEN fetched_bytes END AS fetched_bytes,
        CASE WHEN fetches THEN fetched_kind END AS fetched_kind
    FROM _paired
),

_known AS (
    SELECT
        w.thread,
        w.start_ns,
        w.end_ns,
        w.name_id,
        w.callchain,
        w.kind,
        coalesce(c.bytes, w.fetched_bytes) AS bytes,
        coalesce(c.copy_kind, w.fetched_kind) AS copy_kind
    FROM _wait AS w
    LEFT JOIN _copy AS c
        ON w.thread = c.thread AND w.start_ns = c.start_ns AND w.end_ns = c.end_ns
    WHERE w.kind <> 'pageable_copy' OR c.spans
    QUALIFY is_outermost(w.thread, w.start_ns, w.end_ns, w.name_id)
)

SELECT
    row_number() OVER (ORDER BY thread, start_ns, end_ns DESC, name_id) AS call,
    *
FROM _known
ORDER BY thread, start_ns, end_ns DESC, name_id
