-- memory: the kept steps' copies and sets, by direction.
--
-- Question: what moves between host and device, and what of it does the GPU wait for?
-- Grain:    one row per (kind, pageable)
-- Needs:    owned_op, exposed
-- Columns:
--   kind        VARCHAR  h2d d2h d2d p2p h2h … uvm_h2d uvm_d2h memset unknown
--   pageable    BOOLEAN  a side is pageable host memory; NULL where that was not recorded
--   count       BIGINT   copies or sets
--   bytes       HUGEINT  their size
--   work_ns     BIGINT   summed durations: work, not wall time
--   exposed_ns  BIGINT   time inside the kept windows that nothing hid; copies between devices are
--                        hidden by compute, the others by communication too
WITH
_all AS (
    SELECT
        kind,
        comm,
        copy_kind,
        src_kind,
        dst_kind,
        1 AS count,
        coalesce(bytes, 0) AS bytes,
        end_ns - start_ns AS work_ns,
        0 AS exposed_ns
    FROM owned_op
    WHERE kind IN ('memcpy', 'memset')
    UNION ALL
    SELECT
        kind,
        state = 'comm' AS comm,
        copy_kind,
        src_kind,
        dst_kind,
        0,
        0,
        0,
        exposed_ns
    FROM exposed
    WHERE kind IN ('memcpy', 'memset')
)

SELECT
    CASE
        WHEN kind = 'memset' THEN 'memset'
        WHEN comm THEN 'p2p'
        ELSE coalesce(copy_word(copy_kind), 'unknown')
    END AS kind,
    -- The host's side tells; that it was not recorded does not make it pinned. 7 is CUPTI's "unknown".
    CASE
        WHEN kind = 'memset' THEN NULL
        WHEN copy_kind IN (1, 3) THEN nullif(src_kind, 7) = 0
        WHEN copy_kind IN (2, 4) THEN nullif(dst_kind, 7) = 0
        ELSE nullif(src_kind, 7) = 0 OR nullif(dst_kind, 7) = 0
    END AS pageable,
    sum(count)::BIGINT AS count,
    sum(bytes)::HUGEINT AS bytes,
    sum(work_ns)::BIGINT AS work_ns,
    sum(exposed_ns)::BIGINT AS exposed_ns
FROM _all
GROUP BY ALL
ORDER BY exposed_ns DESC, work_ns DESC, kind, pageable
