-- streams: what each stream carried inside the kept steps.
--
-- Question: how busy is each stream?
-- Grain:    one row per (context, stream)
-- Needs:    stream_time
-- Columns:
--   context  BIGINT  CUDA context
--   stream   BIGINT  CUDA stream
--   count    BIGINT  ops that begin inside a kept window
--   compute  BIGINT  compute kernels and graph rows that run there
--   comm     BIGINT  communication that runs there
--   copy     BIGINT  copies and sets that run there
--   busy_ns  BIGINT  time inside the kept windows in which the stream ran something
SELECT *
FROM stream_time
ORDER BY busy_ns DESC, stream, context
