-- step_refused: programs whose annotations are known but tell no training step.
--
-- Question: is this a program whose steps are not told by these rules?
-- Grain:    one row per kind of program
-- Needs:    step_text
-- Columns:
--   source  VARCHAR  jax or inference
SELECT DISTINCT source
FROM step_text
WHERE source IN ('jax', 'inference')
ORDER BY source
