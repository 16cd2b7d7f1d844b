-- comm_link: how busy the links of the GPU were while a collective ran.
--
-- Question: which link do its bytes take?
-- Grain:    one row per communication op during which anything was sampled
-- Needs:    comm_op, gpu_sample
-- Params:
-- Columns:
--   op_no   BIGINT  number of the op
--   nvlink  BIGINT  mean of the NVLink counters, hundredths of a percent
--   pcie    BIGINT  mean of the PCIe counters, hundredths of a percent
SELECT
    o.op_no,
    round(100 * avg(s.value) FILTER (WHERE s.metric = 'nvlink'))::BIGINT AS nvlink,
    round(100 * avg(s.value) FILTER (WHERE s.metric = 'pcie'))::BIGINT AS pcie
FROM gpu_sample AS s
ASOF INNER JOIN comm_op AS o ON s.at_ns >= o.start_ns
WHERE s.metric <> 'sm_clock' AND s.at_ns < o.end_ns
GROUP BY o.op_no
ORDER BY o.op_no
