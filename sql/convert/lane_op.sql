-- lane_op: the lanes and how much they did.
--
-- Question: which lanes are there?
-- Grain:    one row per lane
-- Needs:    lane, _op
-- Params:
-- Columns:
--   lane     INTEGER
--   process  BIGINT
--   pid      BIGINT
--   device   INTEGER
--   ops      BIGINT
SELECT
    lane.lane,
    lane.process,
    lane.pid,
    lane.device,
    count(*) AS ops
FROM lane
INNER JOIN _op ON lane.process = _op.process AND lane.device = _op.device
WHERE _op.fault IS NULL
GROUP BY ALL
ORDER BY lane.lane
