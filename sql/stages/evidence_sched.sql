-- evidence_sched: when a launching thread wanted to run and had no core.
--
-- Question: which host time went to other threads of the machine?
-- Grain:    one row per stretch
-- Needs:    sched, launching_thread
-- Params:
--   $process BIGINT   the lane's process
-- Columns:
--   thread    BIGINT   thread
--   start_ns  BIGINT   it lost its core
--   end_ns    BIGINT   it got one again
WITH
_change AS (
    SELECT
        s.thread,
        s.at_ns,
        s.on_cpu,
        s.state,
        s.block,
        lead(s.at_ns) OVER _by_thread AS next_ns,
        lead(s.on_cpu) OVER _by_thread AS next_on_cpu
    FROM sched AS s
    SEMI JOIN launching_thread AS t ON s.thread = t.thread
    WHERE s.process = $process
    WINDOW _by_thread AS (PARTITION BY s.thread ORDER BY s.at_ns, s.on_cpu, s.cpu)
)

SELECT
    thread,
    at_ns AS start_ns,
    next_ns AS end_ns
FROM _change
WHERE
    NOT on_cpu
    AND next_on_cpu
    -- Left able to run, or taken off at the end of its turn; anything else waits for something.
    AND (
        state = 'Running'
        OR block IN ('Preempted', 'QuantumEnd', 'YieldExecution', 'ReadyToRun', 'DeferredPreempt', 'DispatchInt')
    )
