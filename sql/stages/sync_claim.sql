-- sync_claim: idle time that a blocking call caused: inside the call, or in its shadow.
--
-- Question: which wait of the host left the GPU without work?
-- Grain:    one row per stretch of a gap
-- Needs:    host_claim, evidence
-- Columns:
--   gap       INTEGER  as gap
--   call      BIGINT   as blocking_call
--   shadow    BOOLEAN  after the call: the queue it drained is being filled again
--   start_ns  BIGINT   first instant
--   end_ns    BIGINT   first instant after
SELECT
    h.gap,
    e.call,
    h.shadow,
    h.start_ns,
    h.end_ns
FROM host_claim AS h
INNER JOIN evidence AS e ON h.evidence = e.evidence
WHERE e.call IS NOT NULL
ORDER BY h.start_ns, e.call
