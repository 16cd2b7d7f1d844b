-- path_phase: the phase of training that a place in the code belongs to.
--
-- Question: is this forward, backward, recomputation or the optimizer?
-- Grain:    one row per path with a name besides the step's own
-- Needs:    path_step, path, nvtx_place
-- Columns:
--   path   BIGINT   path
--   phase  VARCHAR  forward, recompute, backward, optimizer; other if the names tell none of them
WITH
_name AS (
    SELECT
        place,
        is_step,
        CASE
            WHEN regexp_matches(name, '(?i)recompute|CheckpointFunctionBackward') THEN 'recompute'
            -- One range around both says nothing of either.
            WHEN regexp_matches(name, '(?i)forward.*backward') THEN NULL
            WHEN regexp_matches(name, '(?i)backward|autograd::engine|\bbwd\b') THEN 'backward'
            WHEN regexp_matches(name, '(?i)optimizer|optim[._ ]?step|clip_grad|zero_grad') THEN 'optimizer'
            WHEN regexp_matches(name, '(?i)forward|\bfwd\b') THEN 'forward'
        END AS phase
    FROM nvtx_place
),

_path AS (
    SELECT
        s.path,
        -- Ancestors are numbered outermost first: the innermost name that tells a phase speaks.
        arg_max(n.phase, s.ancestor) FILTER (WHERE n.phase IS NOT NULL) AS phase,
        bool_or(n.phase = 'backward') AS in_backward,
        bool_or(NOT n.is_step) AS named
    FROM path_step AS s
    INNER JOIN path AS p ON s.ancestor = p.path
    INNER JOIN _name AS n ON p.place = n.place
    GROUP BY s.path
)

SELECT
    path,
    CASE
        WHEN phase = 'forward' AND in_backward THEN 'recompute'
        ELSE coalesce(phase, 'other')
    END AS phase
FROM _path
WHERE named
ORDER BY path
