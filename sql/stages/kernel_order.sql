-- kernel_order: the kernels of the kept steps, with what tells runs of them apart.
--
-- Question: which kernels stand one after another?
-- Grain:    one row per kernel
-- Needs:    owned_op, kernel_name
-- Columns:
--   step      INTEGER  step; -1 where the window is the whole capture
--   context   INTEGER  low bits of the context
--   stream    INTEGER  low bits of the stream
--   start_ns  BIGINT   device start
--   dur_ns    BIGINT   duration
--   name      INTEGER  place of its name in kernel_name
--   fusible   BOOLEAN  it only moves bytes: fusing it with its neighbours would save their traffic
WITH
_name AS (
    SELECT
        name_id,
        (row_number() OVER (ORDER BY name_id) - 1)::INTEGER AS name,
        class IN ('norm', 'rope', 'quant', 'activation', 'elementwise', 'copy') AS fusible
    FROM kernel_name
)

SELECT
    coalesce(o.step, -1)::INTEGER AS step,
    (coalesce(o.context, 0) & 2147483647)::INTEGER AS context,
    (coalesce(o.stream, 0) & 2147483647)::INTEGER AS stream,
    o.start_ns,
    o.end_ns - o.start_ns AS dur_ns,
    n.name,
    n.fusible
FROM owned_op AS o
INNER JOIN _name AS n ON o.name_id = n.name_id
WHERE o.kind = 'kernel'
