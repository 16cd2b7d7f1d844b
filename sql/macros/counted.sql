-- counted: medians over values that were counted before.

-- median() holds every row of every group in memory and cannot spill; equal durations counted first
-- can, and are few. `upto` is how many rows have the value or a lower one, `whole` how many there
-- are: the middle value, the middle two averaged, as an integer.
CREATE OR REPLACE MACRO middle_of(value, upto, whole) AS
    round_even(
        (
            min(value) FILTER (WHERE upto >= (whole + 1) // 2)
            + min(value) FILTER (WHERE upto >= whole // 2 + 1)
        ) / 2, 0
    )::BIGINT;
