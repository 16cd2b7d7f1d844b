-- fusible_name: which kernels only move bytes, so that fusing neighbours would save their traffic.
--
-- Question: which kernels could be one with the kernel before or after them?
-- Grain:    one row per kernel name, by name_id
-- Needs:    kernel_name
-- Columns:
--   name_id  BIGINT   full kernel name
--   fusible  BOOLEAN  it only moves bytes
SELECT
    name_id,
    class IN ('norm', 'rope', 'quant', 'activation', 'elementwise', 'copy') AS fusible
FROM kernel_name
ORDER BY name_id
