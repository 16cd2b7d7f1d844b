-- level1: the six states of the device, per window, exact.
--
-- Question: how long did the GPU compute, communicate, copy, replay graphs or do nothing?
-- Grain:    one row per segment of the time line
-- Needs:    coverage, window_bucket, segment
-- Params:
--   $shift INTEGER   as window_bucket
-- Columns:
--   segment               INTEGER  position on the time line
--   window_ns             BIGINT   length of the segment
--   compute_only          BIGINT   compute kernels, no communication
--   compute_comm_overlap  BIGINT   both
--   exposed_comm          BIGINT   communication, no compute kernel, no opaque graph
--   exposed_mem           BIGINT   only copies and sets
--   graph_opaque          BIGINT   a whole-graph row and no compute kernel
--   idle                  BIGINT   nothing
--   opaque_ns             BIGINT   communication beside an opaque graph, no compute kernel
WITH
-- A union's length inside a window is the difference of two lengths "up to an instant". Up to an
-- instant means: what the ops begun before it added, less what reaches beyond it.
_added AS (
    SELECT
        b.segment,
        sum(newly_covered(c.all_ns, c.all_before_ns, c.start_ns)) AS all_added,
        sum(newly_covered(c.c_ns, c.c_before_ns, c.start_ns)) AS c_added,
        sum(newly_covered(c.cg_ns, c.cg_before_ns, c.start_ns)) AS cg_added,
        sum(newly_covered(c.cgn_ns, c.cgn_before_ns, c.start_ns)) AS cgn_added,
        sum(newly_covered(c.n_ns, c.n_before_ns, c.start_ns)) AS n_added,
        sum(newly_covered(c.cn_ns, c.cn_before_ns, c.start_ns)) AS cn_added,
        max(c.all_ns) AS all_ns,
        max(c.c_ns) AS c_ns,
        max(c.cg_ns) AS cg_ns,
        max(c.cgn_ns) AS cgn_ns,
        max(c.n_ns) AS n_ns,
        max(c.cn_ns) AS cn_ns
    FROM coverage AS c
    INNER JOIN window_bucket AS b
        ON c.start_ns >> $shift = b.slice AND c.start_ns >= b.start_ns AND c.start_ns < b.end_ns
    GROUP BY b.segment
),

_up_to AS (
    SELECT
        s.segment,
        s.end_ns - s.start_ns AS window_ns,
        sum(a.all_added) OVER _so_far - greatest(0, max(a.all_ns) OVER _so_far - s.end_ns) AS all_up_to,
        sum(a.c_added) OVER _so_far - greatest(0, max(a.c_ns) OVER _so_far - s.end_ns) AS c_up_to,
        sum(a.cg_added) OVER _so_far - greatest(0, max(a.cg_ns) OVER _so_far - s.end_ns) AS cg_up_to,
        sum(a.cgn_added) OVER _so_far - greatest(0, max(a.cgn_ns) OVER _so_far - s.end_ns) AS cgn_up_to,
        sum(a.n_added) OVER _so_far - greatest(0, max(a.n_ns) OVER _so_far - s.end_ns) AS n_up_to,
        sum(a.cn_added) OVER _so_far - greatest(0, max(a.cn_ns) OVER _so_far - s.end_ns) AS cn_up_to
    FROM segment AS s
    LEFT JOIN _added AS a ON s.segment = a.segment
    WINDOW _so_far AS (ORDER BY s.segment ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
),

_inside AS (
    SELECT
        segment,
        window_ns,
        coalesce(all_up_to, 0) - coalesce(lag(all_up_to) OVER _by_time, 0) AS all_ns,
        coalesce(c_up_to, 0) - coalesce(lag(c_up_to) OVER _by_time, 0) AS c_ns,
        coalesce(cg_up_to, 0) - coalesce(lag(cg_up_to) OVER _by_time, 0) AS cg_ns,
        coalesce(cgn_up_to, 0) - coalesce(lag(cgn_up_to) OVER _by_time, 0) AS cgn_ns,
        coalesce(n_up_to, 0) - coalesce(lag(n_up_to) OVER _by_time, 0) AS n_ns,
        coalesce(cn_up_to, 0) - coalesce(lag(cn_up_to) OVER _by_time, 0) AS cn_ns
    FROM _up_to
    WINDOW _by_time AS (ORDER BY segment)
)

SELECT
    segment,
    window_ns::BIGINT AS window_ns,
    (cn_ns - n_ns)::BIGINT AS compute_only,
    (c_ns + n_ns - cn_ns)::BIGINT AS compute_comm_overlap,
    (cgn_ns - cg_ns)::BIGINT AS exposed_comm,
    (all_ns - cgn_ns)::BIGINT AS exposed_mem,
    (cg_ns - c_ns)::BIGINT AS graph_opaque,
    (window_ns - all_ns)::BIGINT AS idle,
    (cn_ns - c_ns - (cgn_ns - cg_ns))::BIGINT AS opaque_ns
FROM _inside
ORDER BY segment
