-- phases: compute time of the kept steps by phase of training.
--
-- Question: what was computed for forward, backward, recomputation and the optimizer?
-- Grain:    one row per phase
-- Needs:    phase_time, phase
-- Columns:
--   phase  VARCHAR  phase
--   ns     BIGINT   time; an instant with several kernels counts for the first phase in order
SELECT
    p.phase,
    sum(t.time_ns)::BIGINT AS ns
FROM phase_time AS t
INNER JOIN phase AS p ON t.place = p.place
GROUP BY p.phase
ORDER BY p.phase
