-- intervals: arithmetic on half-open intervals and running coverage.

-- What a row adds to a union when rows come by start: `until` is the running maximum of ends up to
-- and including the row, `before` the same without it, `start_ns` where the row begins.
CREATE OR REPLACE MACRO newly_covered(until, before, start_ns) AS
    CASE
        WHEN until > coalesce(before, start_ns) THEN until - greatest(start_ns, coalesce(before, start_ns))
        ELSE 0
    END;

CREATE OR REPLACE MACRO overlap_ns(a_start, a_end, b_start, b_end) AS
    greatest(0, least(a_end, b_end) - greatest(a_start, b_start));
