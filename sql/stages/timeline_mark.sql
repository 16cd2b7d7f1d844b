-- timeline_mark: marks of one window; those shorter than a bin are merged per row, class and bin.
--
-- Question: what can be drawn of this step without hiding how much was merged?
-- Grain:    one row per mark
-- Needs:    timeline_unmerged
-- Params:
--   $from_ns BIGINT   as timeline_op
--   $bin_ns  BIGINT   shorter marks that begin in one bin become one
-- Columns:
--   row         INTEGER  as timeline_row
--   class       VARCHAR  class
--   name        BIGINT   as timeline_text; NULL where merged names differ
--   start_ns    BIGINT   first instant
--   end_ns      BIGINT   first instant after the last
--   n           BIGINT   what it stands for
--   covered_ns  BIGINT   time between start and end that is really covered
--   whole       BOOLEAN  it is never merged
-- Merging what was merged before, with a wider bin, gives the marks of that bin.
WITH
_keyed AS (
    SELECT
        *,
        -- A key of its own keeps a mark apart, and everything is read once.
        CASE
            WHEN whole OR end_ns - start_ns >= $bin_ns THEN -row_number() OVER ()
            ELSE (start_ns - $from_ns) // $bin_ns
        END AS pile
    FROM timeline_unmerged
)

SELECT
    row,
    class,
    CASE WHEN count(name) = count(*) AND min(name) = max(name) THEN min(name) END AS name,
    min(start_ns) AS start_ns,
    max(end_ns) AS end_ns,
    sum(n)::BIGINT AS n,
    CASE
        WHEN sum(n) = 1 THEN max(end_ns) - min(start_ns)
        ELSE least(sum(covered_ns), max(end_ns) - min(start_ns))::BIGINT
    END AS covered_ns,
    bool_or(whole) AS whole
FROM _keyed
GROUP BY row, class, pile
