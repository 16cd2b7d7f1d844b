-- step_collective: collectives that may carry gradients, with their communicator where it is known.
--
-- Question: when were gradients reduced?
-- Grain:    one row per all-reduce or reduce-scatter kernel
-- Needs:    lane_op, kernel_name, nccl_call
-- Params:
--   $process BIGINT   the lane's process
-- Columns:
--   at_ns     BIGINT   launching call, device start if none was recorded
--   start_ns  BIGINT   device start
--   end_ns    BIGINT   device end
--   channel   VARCHAR  the communicator, or the stream that stands for it
WITH
_call AS (
    SELECT
        thread,
        start_ns,
        end_ns,
        comm
    FROM nccl_call
    WHERE process = $process AND comm IS NOT NULL
)

SELECT
    coalesce(o.launch_start_ns, o.start_ns) AS at_ns,
    o.start_ns,
    o.end_ns,
    CASE WHEN c.end_ns >= o.launch_start_ns THEN c.comm ELSE concat_ws(':', 'stream', o.context, o.stream) END
        AS channel
FROM lane_op AS o
INNER JOIN kernel_name AS k ON o.name_id = k.name_id
ASOF LEFT JOIN _call AS c ON o.launch_thread = c.thread AND o.launch_start_ns >= c.start_ns
WHERE o.kind = 'kernel' AND o.comm AND k.op IN ('all_reduce', 'reduce_scatter') AND o.end_ns > o.start_ns
ORDER BY at_ns, start_ns, end_ns, channel
