-- stream_work: what each stream of the lane carried in the whole capture.
--
-- Question: which stream computes, which communicates, which copies?
-- Grain:    one row per (context, stream)
-- Needs:    lane_op
-- Columns:
--   context      BIGINT   CUDA context
--   stream       BIGINT   CUDA stream
--   compute_sum  HUGEINT  summed durations of compute kernels and graph rows; at least their union
--   all_sum      HUGEINT  summed durations of everything on the stream
SELECT
    context,
    stream,
    coalesce(sum(end_ns - start_ns) FILTER (WHERE is_compute OR is_graph), 0) AS compute_sum,
    coalesce(sum(end_ns - start_ns), 0) AS all_sum
FROM lane_op
GROUP BY ALL
ORDER BY stream, context
