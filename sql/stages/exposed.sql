-- exposed: communication and copies that nothing hid, each instant owned by the op that ends last.
--
-- Question: which collective, which copy held the GPU up?
-- Grain:    one row per op and kept window
-- Needs:    lane_op, exposed_span
-- Columns:
--   state        VARCHAR  comm or mem
--   step         INTEGER  step
--   start_ns     BIGINT   the op owns the time from here
--   end_ns       BIGINT   to here
--   op_start_ns  BIGINT   device start of the op
--   op_end_ns    BIGINT   device end of the op
--   kind         VARCHAR  as lane_op
--   name_id      BIGINT   as lane_op
--   context      BIGINT   as lane_op
--   stream       BIGINT   as lane_op
--   copy_kind    INTEGER  as lane_op
--   src_kind     INTEGER  as lane_op
--   dst_kind     INTEGER  as lane_op
--   correlation  BIGINT   as lane_op
--   exposed_ns   BIGINT   of the owned time, what nothing hid
WITH
-- The places of exposed_span count the copies and the communication that have a duration.
_op AS (
    SELECT
        *,
        row_number() OVER () - 1 AS place
    FROM lane_op
    WHERE (comm OR is_copy) AND end_ns > start_ns
)

SELECT
    e.state,
    e.step,
    e.start_ns,
    e.end_ns,
    o.start_ns AS op_start_ns,
    o.end_ns AS op_end_ns,
    o.kind,
    o.name_id,
    o.context,
    o.stream,
    o.copy_kind,
    o.src_kind,
    o.dst_kind,
    o.correlation,
    e.exposed_ns
FROM exposed_span AS e
INNER JOIN _op AS o ON e.place = o.place
ORDER BY e.state, e.start_ns, o.stream, o.correlation
