-- name_phase: kernels whose names tell a phase of training.
--
-- Question: is this kernel forward, backward or the optimizer's?
-- Grain:    one row per kernel name that tells
-- Needs:    kernel_name
-- Columns:
--   name_id  BIGINT   kernel name
--   phase    VARCHAR  optimizer, backward or forward
SELECT
    name_id,
    CASE
        WHEN class IN ('optimizer', 'gradnorm') THEN 'optimizer'
        WHEN regexp_matches(name, '(?i)bwd|backward') THEN 'backward'
        ELSE 'forward'
    END AS phase
FROM kernel_name
WHERE
    name_id IS NOT NULL
    AND (class IN ('optimizer', 'gradnorm') OR regexp_matches(name, '(?i)bwd|backward|fwd|forward|fprop'))
ORDER BY name_id
