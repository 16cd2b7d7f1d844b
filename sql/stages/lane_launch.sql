-- lane_launch: when each op was asked for.
--
-- Question: when did the host request this op?
-- Grain:    one row per op
-- Needs:    lane_op
-- Params:
--   $context   BIGINT   context of the primary stream
--   $stream    BIGINT   primary stream
--   $by_start  BOOLEAN  no launch was recorded on the primary stream: its device starts stand in
--   $device    BOOLEAN  the device's own times decide, whatever was recorded of launches
-- Columns:
--   at_ns       BIGINT   start of the launching call, NULL if not recorded; device start if $device
--   start_ns    BIGINT   device start
--   end_ns      BIGINT   device end
--   is_primary  BOOLEAN  on the primary compute stream
--   class_rank  UTINYINT place of the kernel's class in the claiming order
SELECT
    CASE
        WHEN $device THEN start_ns
        WHEN $by_start THEN coalesce(launch_start_ns, start_ns)
        ELSE launch_start_ns
    END AS at_ns,
    start_ns,
    end_ns,
    (context IS NOT DISTINCT FROM $context) AND (stream IS NOT DISTINCT FROM $stream) AS is_primary,
    class_rank
FROM lane_op
