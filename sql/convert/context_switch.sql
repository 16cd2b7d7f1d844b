-- context_switch: when a context held a GPU.
--
-- Question: whose turn was it on the GPU?
-- Grain:    one row per turn with a beginning and an end
-- Needs:    _raw_context_switch
-- Params:
-- Columns:
--   process   BIGINT   NULL where the export does not say whose context it is
--   gpu_id    BIGINT   as gpu, NULL where the export does not say
--   context   BIGINT   the hardware's number of it, not CUDA's
--   start_ns  BIGINT
--   end_ns    BIGINT
WITH
_mark AS (
    SELECT
        *,
        lead(tag) OVER _in_turn AS next_tag,
        lead(at_ns) OVER _in_turn AS next_ns
    FROM _raw_context_switch
    -- 8 begins a turn, 7 ends it; other marks are of no use here.
    WHERE tag IN (7, 8) AND at_ns IS NOT NULL
    WINDOW _in_turn AS (
        PARTITION BY vm, gpu_id, process_id, context
        ORDER BY at_ns, sequence, tag
    )
)

SELECT
    CASE WHEN process_id <> 0 THEN process_of(process_id) END AS process,
    gpu_id,
    context,
    at_ns AS start_ns,
    next_ns AS end_ns
FROM _mark
WHERE tag = 8 AND next_tag = 7 AND next_ns > at_ns
ORDER BY gpu_id, at_ns, next_ns, process, context
