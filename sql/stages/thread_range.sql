-- thread_range: the ranges of one thread, by start, the enclosing first.
--
-- Question: what did this thread say it was doing?
-- Grain:    one row per range
-- Needs:    nvtx
-- Params:
--   $process BIGINT   the lane's process
--   $thread  BIGINT   thread
-- Columns:
--   start_ns  BIGINT   push
--   end_ns    BIGINT   pop, NULL while open
--   name_id   BIGINT   text
--   domain    BIGINT   NVTX domain
--   own       BOOLEAN  it ends on the thread that began it
-- Rows come in the order of the store: by start, the longer first. Nothing is sorted.
SELECT
    start_ns,
    end_ns,
    name_id,
    coalesce(domain, 0) AS domain,
    end_thread IS NULL OR end_thread = thread AS own
FROM nvtx
WHERE process = $process AND thread = $thread AND kind <> 'mark'
