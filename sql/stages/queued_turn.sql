-- queued_turn: when a context of another process held the lane's GPU.
--
-- Question: which time of this GPU went to another process?
-- Grain:    one row per stretch, without overlaps
-- Needs:    context_switch, cuda_device, gpu
-- Params:
--   $process BIGINT   the lane's process
--   $pid     BIGINT   its process id
--   $device  INTEGER  the lane's device
-- Columns:
--   start_ns  BIGINT  first instant
--   end_ns    BIGINT  first instant after
--   name_id   BIGINT  NULL: what ran there was not recorded
WITH
_gpu AS (
    SELECT gpu_id AS id
    FROM cuda_device
    WHERE pid = $pid AND cuda_id = $device
    UNION ALL
    -- With one GPU in the machine there is no other that it could be.
    SELECT any_value(id)
    FROM gpu
    WHERE nvidia
    HAVING count(*) = 1
),

_turn AS (
    SELECT
        start_ns,
        end_ns,
        max(end_ns) OVER (
            ORDER BY start_ns, end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS before_ns
    FROM context_switch
    WHERE process <> $process AND gpu_id IN (SELECT id FROM _gpu)
)

SELECT
    coalesce(greatest(start_ns, before_ns), start_ns) AS start_ns,
    end_ns,
    NULL::BIGINT AS name_id
FROM _turn
WHERE before_ns IS NULL OR end_ns > before_ns
ORDER BY start_ns
