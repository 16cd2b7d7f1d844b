-- host_range_bucket: candidate ranges cut into equal slices of time, so that a launch finds its range by a hash join.
--
-- Question: which range may hold a call that began in this slice?
-- Grain:    one row per range and slice it touches
-- Needs:    host_range
-- Params:
--   $shift INTEGER   a slice is 2^shift ns
-- Columns:
--   slice     BIGINT   start time shifted right
--   series    INTEGER  which candidate
--   step      INTEGER  which of its ranges
--   start_ns  BIGINT   first instant inside
--   end_ns    BIGINT   first instant after
SELECT
    unnest(range(start_ns >> $shift, (end_ns >> $shift) + 1)) AS slice,
    series,
    step,
    start_ns,
    end_ns
FROM host_range
