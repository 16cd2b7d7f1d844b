-- nvtx: the kept steps' annotated ranges by place in the code, with what the GPU did for them.
--
-- Question: which part of the program does the GPU work for?
-- Grain:    one row per path, the most projected time first
-- Needs:    path_name, path_count, path_work, path_union
-- Params:
--   $most INTEGER   paths listed
-- Columns:
--   path          VARCHAR  as path_name
--   domain        VARCHAR  NVTX domain of the innermost, NULL for the default one
--   count         BIGINT   closed ranges
--   open          BIGINT   ranges that never end
--   host_ns       BIGINT   summed length of the closed ranges on their threads
--   projected_ns  BIGINT   device time of the ops launched in them or below, each instant once
--   work_ns       BIGINT   summed durations of those ops: work, not wall time
--   total         BIGINT   how many paths there are
SELECT
    n.path_name AS path,
    n.domain,
    coalesce(c.count, 0) AS count,
    coalesce(c.open, 0) AS open,
    coalesce(c.host_ns, 0) AS host_ns,
    coalesce(w.alone_ns, 0) + coalesce(u.union_ns, 0) AS projected_ns,
    coalesce(w.work_ns, 0) AS work_ns,
    count(*) OVER () AS total
FROM path_name AS n
LEFT JOIN path_count AS c ON n.path = c.path
LEFT JOIN path_work AS w ON n.path = w.path
LEFT JOIN path_union AS u ON n.path = u.path
WHERE coalesce(c.count, 0) + coalesce(c.open, 0) > 0 OR coalesce(w.work_ns, 0) > 0
-- A domain whose name was not recorded looks like the default one.
ORDER BY projected_ns DESC, host_ns DESC, path, domain, work_ns DESC, count DESC, open DESC
LIMIT $most
