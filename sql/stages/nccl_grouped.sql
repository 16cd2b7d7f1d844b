-- nccl_grouped: NCCL's calls, each with the group it is in.
--
-- Question: which calls does NCCL carry out together?
-- Grain:    one row per call that moves data, begins or ends a group
-- Needs:    nccl_call
-- Params:
--   $process BIGINT   the lane's process
-- Columns:
--   *         the columns of nccl_call
--   depth     BIGINT  groups around the call; 0 for a call of its own and for the end of an outermost group
--   group_no  BIGINT  number of the outermost group on its thread
WITH
_call AS (
    SELECT
        *,
        sum(CASE op WHEN 'group_start' THEN 1 WHEN 'group_end' THEN -1 ELSE 0 END) OVER _so_far AS raw
    FROM nccl_call
    WHERE process = $process AND op NOT IN ('comm_init', 'comm_split', 'comm_destroy') AND end_ns IS NOT NULL
    WINDOW _so_far AS (
        PARTITION BY thread ORDER BY start_ns, end_ns DESC, op, comm, peer
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    )
),

-- A capture that begins inside a group sees an end without its start.
_nested AS (
    SELECT
        * EXCLUDE (raw),
        raw - least(
            0,
            min(raw) OVER (
                PARTITION BY thread ORDER BY start_ns, end_ns DESC, op, comm, peer
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            )
        ) AS depth
    FROM _call
)

SELECT
    *,
    coalesce(
        sum((op = 'group_end' AND depth = 0)::INTEGER) OVER (
            PARTITION BY thread ORDER BY start_ns, end_ns DESC, op, comm, peer
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), 0
    ) AS group_no
FROM _nested
