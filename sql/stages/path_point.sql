-- path_point: instants whose place in the code is asked for, on one thread.
--
-- Question: in which range was each launch and each wait?
-- Grain:    one row per op, or per blocking call
-- Needs:    owned_op, blocking_call
-- Params:
--   $thread BIGINT   thread
-- Columns:
--   at_ns     BIGINT   start of the call
--   start_ns  BIGINT   device start of the op; NULL for a blocking call
--   end_ns    BIGINT   device end
--   call      BIGINT   the blocking call; NULL for an op
--   name_id   BIGINT   kernel name of a compute kernel; NULL for anything else
SELECT
    launch_start_ns AS at_ns,
    start_ns,
    end_ns,
    NULL::BIGINT AS call,
    CASE WHEN is_compute THEN name_id END AS name_id
FROM owned_op
WHERE launch_thread = $thread
UNION ALL
SELECT
    start_ns,
    NULL::BIGINT,
    NULL::BIGINT,
    call,
    NULL
FROM blocking_call
WHERE thread = $thread
ORDER BY at_ns, start_ns, end_ns, call, name_id
