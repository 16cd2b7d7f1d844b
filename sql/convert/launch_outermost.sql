-- launch_outermost: of several calls under one correlation, the one around the others.
--
-- Question: which call does the device work of a correlation belong to?
-- Grain:    one row per (process, correlation)
-- Needs:    _launch
-- Params:
-- Columns:
--   process          BIGINT
--   correlation      BIGINT
--   launch_thread    BIGINT
--   launch_start_ns  BIGINT
--   launch_end_ns    BIGINT
--   launch_name_id   BIGINT
SELECT
    process,
    correlation,
    launch_thread,
    launch_start_ns,
    launch_end_ns,
    launch_name_id
FROM _launch
QUALIFY
    row_number() OVER (
        PARTITION BY process, correlation
        ORDER BY launch_start_ns, launch_end_ns DESC, launch_thread, launch_name_id
    ) = 1
