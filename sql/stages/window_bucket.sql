-- window_bucket: the windows cut into equal slices of time, so that an op finds its window by a hash join.
--
-- Question: which window holds an instant of this slice?
-- Grain:    one row per window and slice it touches
-- Needs:    segment
-- Params:
--   $shift INTEGER   a slice is 2^shift ns
-- Columns:
--   slice     BIGINT   time shifted right
--   segment   INTEGER  position of the window on the time line, those outside every step included
--   start_ns  BIGINT   first instant inside
--   end_ns    BIGINT   first instant after
SELECT
    unnest(range(start_ns >> $shift, ((end_ns - 1) >> $shift) + 1)) AS slice,
    segment,
    start_ns,
    end_ns
FROM segment
WHERE end_ns > start_ns
