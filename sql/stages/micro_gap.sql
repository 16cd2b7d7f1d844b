-- micro_gap: below which length a queued gap is the device's own turn-around.
--
-- Question: how long does this GPU take between two queued ops of a stream?
-- Grain:    one row
-- Needs:    gap
-- Columns:
--   limit_ns  BIGINT   the 90th percentile of same-stream queued gaps, kept between 2 and 10 µs
SELECT
    greatest(
        2000, least(10000, coalesce(quantile_disc(queued_ns, 0.9) FILTER (WHERE same_stream), 0))
    )::BIGINT AS limit_ns
FROM gap
WHERE queued_ns > 0
