-- phase_kernel: compute kernels with the phase they were launched in.
--
-- Question: which phase of training does each kernel belong to?
-- Grain:    one row per compute kernel whose phase is known
-- Needs:    path_found, path_phase, thread, kernel_name, phase
-- Columns:
--   start_ns  BIGINT   device start
--   end_ns    BIGINT   device end
--   place     UTINYINT the phase, by its order
--   alone     BOOLEAN  no other such kernel ran at the same time
WITH
_anchor AS (
    SELECT
        name_id,
        CASE
            WHEN class IN ('optimizer', 'gradnorm') THEN 'optimizer'
            WHEN regexp_matches(name, '(?i)bwd|backward') THEN 'backward'
            WHEN regexp_matches(name, '(?i)fwd|forward|fprop') THEN 'forward'
        END AS phase
    FROM kernel_name
),

_helper AS (
    SELECT thread
    FROM thread
    WHERE name LIKE 'pt_autograd%'
),

_known AS (
    SELECT
        f.start_ns,
        f.end_ns,
        CASE
            WHEN p.phase IS NOT NULL AND p.phase <> 'other' THEN p.phase
            -- Autograd runs backward; a forward kernel there is computed a second time.
            WHEN h.thread IS NOT NULL AND a.phase = 'forward' THEN 'recompute'
            WHEN h.thread IS NOT NULL THEN 'backward'
            ELSE coalesce(a.phase, p.phase)
        END AS phase
    FROM path_found AS f
    LEFT JOIN path_phase AS p ON f.path = p.path
    LEFT JOIN _helper AS h ON f.thread = h.thread
    LEFT JOIN _anchor AS a ON f.name_id = a.name_id
    WHERE f.name_id IS NOT NULL AND f.end_ns > f.start_ns
),

_placed AS (
    SELECT
        k.start_ns,
        k.end_ns,
        o.place
    FROM _known AS k
    INNER JOIN phase AS o ON k.phase = o.phase
),

_until AS (
    SELECT
        *,
        max(end_ns) OVER (ORDER BY start_ns, end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
            AS before_ns,
        lead(start_ns) OVER (ORDER BY start_ns, end_ns) AS next_ns
    FROM _placed
)

SELECT
    start_ns,
    end_ns,
    place,
    coalesce(before_ns <= start_ns, TRUE) AND coalesce(next_ns >= end_ns, TRUE) AS alone
FROM _until
