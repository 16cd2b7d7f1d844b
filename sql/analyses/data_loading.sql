-- data_loading: waiting for input, per kept step that waited.
--
-- Question: does the GPU wait for data?
-- Grain:    one row per step with a wait
-- Needs:    idle_cause, exposed_input
-- Columns:
--   step     INTEGER  step
--   idle_ns  BIGINT   idle time claimed by a loader range or by a wait before the first input copy
--   copy_ns  BIGINT   exposed input copies before the step's first compute kernel
WITH
_all AS (
    SELECT
        step,
        ns AS idle_ns,
        0 AS copy_ns
    FROM idle_cause
    WHERE cause = 'data_loading'
    UNION ALL
    SELECT
        step,
        0,
        ns
    FROM exposed_input
)

SELECT
    step,
    sum(idle_ns)::BIGINT AS idle_ns,
    sum(copy_ns)::BIGINT AS copy_ns
FROM _all
GROUP BY step
ORDER BY step
