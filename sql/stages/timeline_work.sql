-- timeline_work: device work as marks of the rows of streams and copies.
--
-- Question: what did each stream run, and when?
-- Grain:    one row per op
-- Needs:    timeline_op, timeline_comm, timeline_row
-- Params:
--   $most    INTEGER  collectives that are never merged, the longest first
-- Columns:
--   row         INTEGER  as timeline_row
--   class       VARCHAR  class of the mark
--   name        BIGINT   as timeline_text
--   start_ns    BIGINT   first instant inside the window
--   end_ns      BIGINT   first instant after
--   n           BIGINT   1
--   covered_ns  BIGINT   time that no earlier op of its row covers
--   whole       BOOLEAN  it is never merged
WITH
_op AS (
    SELECT
        context,
        stream,
        is_copy,
        CASE
            WHEN is_graph THEN 'graph'
            WHEN is_copy THEN 'copy'
            -- attention, gemm, conv, fused_comm_gemm: the first in the claiming order.
            WHEN class_rank <= 3 THEN 'tensor'
            ELSE 'kernel'
        END AS class,
        -- Copies have no name of their own: one per direction, far from every text id.
        CASE kind
            WHEN 'memcpy' THEN 4611686018427387904 + coalesce(copy_kind, 0)
            WHEN 'memset' THEN 4611686018427387904 - 1
            ELSE name_id
        END AS name,
        correlation,
        from_ns,
        until_ns,
        FALSE AS whole
    FROM timeline_op
    WHERE NOT comm
    UNION ALL
    SELECT
        context,
        stream,
        FALSE,
        CASE WHEN hidden THEN 'hidden' ELSE 'unsplit' END,
        CASE WHEN kind = 'memcpy' THEN 4611686018427387904 + 10 ELSE name_id END,
        correlation,
        from_ns,
        until_ns,
        row_number() OVER (ORDER BY until_ns - from_ns DESC, from_ns, stream, correlation) <= $most
    FROM timeline_comm
),

_placed AS (
    SELECT
        CASE WHEN o.is_copy THEN c.row ELSE coalesce(s.row, r.row) END AS row,
        o.*
    FROM _op AS o
    LEFT JOIN timeline_row AS c ON c.kind = 'copies'
    LEFT JOIN timeline_row AS r ON r.kind = 'others'
    LEFT JOIN timeline_row AS s
        ON
            s.kind = 'stream'
            AND o.context IS NOT DISTINCT FROM s.context
            AND o.stream IS NOT DISTINCT FROM s.stream
)

SELECT
    row,
    class,
    name,
    from_ns AS start_ns,
    until_ns AS end_ns,
    1 AS n,
    newly_covered(
        until_ns,
        max(until_ns) OVER (
            PARTITION BY row ORDER BY from_ns, until_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ),
        from_ns
    )::BIGINT AS covered_ns,
    whole
FROM _placed
WHERE row IS NOT NULL
