-- launch: the calls that may have started device work.
--
-- Question: which call can device work belong to?
-- Grain:    one row per call with a correlation
-- Needs:    _api, string
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
    thread AS launch_thread,
    start_ns AS launch_start_ns,
    end_ns AS launch_end_ns,
    name_id AS launch_name_id
FROM _api
WHERE
    correlation IS NOT NULL
    -- Calls that never start work are half of a trace; leaving them out halves the join.
    AND coalesce(name_id, -1) NOT IN (
        SELECT id FROM string
        WHERE
            regexp_matches(
                value,
                '^(?:cuda|cu)(?:Event|Get|Set|Peek|Occupancy|FuncGet|FuncSet|DeviceGet|PointerGet|Ctx|KernelGet'
                || '|StreamIsCapturing|StreamGet|StreamQuery|StreamSynchronize|StreamWaitEvent|StreamCreate'
                || '|DeviceSynchronize|ThreadExchange|DriverGet|RuntimeGet)'
            )
    )
