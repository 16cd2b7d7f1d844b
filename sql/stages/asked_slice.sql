-- asked_slice: stretches of host time that are asked about, cut into equal slices.
--
-- Question: which slices of time matter?
-- Grain:    one row per slice
-- Needs:    asked
-- Params:
--   $shift INTEGER   a slice is 2^shift ns
-- Columns:
--   slice  BIGINT  time shifted right
SELECT DISTINCT unnest(range(start_ns >> $shift, ((end_ns - 1) >> $shift) + 1)) AS slice
FROM asked
ORDER BY slice
