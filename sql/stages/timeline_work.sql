-- timeline_work: device work as marks of the rows of streams and copies.
--
-- Question: what did each stream run, and when?
-- Grain:    one row per op
-- Needs:    timeline_op, timeline_row, island
-- Params:
--   $from_ns BIGINT   as timeline_op
--   $to_ns   BIGINT   as timeline_op
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
_comm AS (
    SELECT *
    FROM timeline_op
    WHERE comm
),

_cover AS (
    SELECT
        start_ns,
        end_ns,
        covered_ns
    FROM island
    WHERE start_ns < $to_ns AND end_ns > $from_ns
),

_hidden_from AS (
    SELECT
        c.*,
        a.covered_ns + least(c.from_ns, a.end_ns) - a.start_ns AS hidden_from_ns
    FROM _comm AS c
    ASOF LEFT JOIN _cover AS a ON c.from_ns >= a.start_ns
),

_hidden_until AS (
    SELECT
        h.*,
        a.covered_ns + least(h.until_ns, a.end_ns) - a.start_ns AS hidden_until_ns
    FROM _hidden_from AS h
    ASOF LEFT JOIN _cover AS a ON h.until_ns >= a.start_ns
),

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
        CASE
            -- Slivers between two kernels expose a little of almost every hidden collective.
            WHEN
                2 * (
                    coalesce(hidden_until_ns, (SELECT min(covered_ns) FROM _cover), 0)
                    - coalesce(hidden_from_ns, (SELECT min(covered_ns) FROM _cover), 0)
                ) >= until_ns - from_ns
                THEN 'hidden'
            ELSE 'unsplit'
        END,
        CASE WHEN kind = 'memcpy' THEN 4611686018427387904 + 10 ELSE name_id END,
        correlation,
        from_ns,
        until_ns,
        row_number() OVER (ORDER BY until_ns - from_ns DESC, from_ns, stream, correlation) <= $most
    FROM _hidden_until
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
