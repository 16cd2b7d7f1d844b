-- call_times: calls of a stage by name, with how long they took.

-- `calls` is the name of a table of calls: name_id, start_ns, end_ns. The ABI suffix of the CUDA
-- runtime is no part of a name; ids of one name are one call and travel as the lowest of them.
CREATE OR REPLACE MACRO call_times(calls) AS TABLE
    WITH
    _counted AS (
        SELECT
            name_id,
            end_ns - start_ns AS dur_ns,
            count(*) AS count
        FROM query_table(calls)
        GROUP BY name_id, dur_ns
    ),

    _name AS (
        SELECT
            id,
            CASE
                WHEN value LIKE 'cuda%' THEN regexp_replace(value, '(_pt[sd][zs])?_v\d{4,5}$', '')
                ELSE value
            END AS name
        FROM string
        WHERE id IN (SELECT name_id FROM _counted)
    ),

    _told AS (
        SELECT
            id,
            name,
            min(id) OVER (PARTITION BY name) AS told
        FROM _name
    ),

    _merged AS (
        SELECT
            t.told,
            c.dur_ns,
            sum(c.count)::BIGINT AS count
        FROM _counted AS c
        LEFT JOIN _told AS t ON c.name_id = t.id
        GROUP BY t.told, c.dur_ns
    ),

    _upto AS (
        SELECT
            *,
            sum(count) OVER (PARTITION BY told ORDER BY dur_ns)::BIGINT AS upto,
            sum(count) OVER (PARTITION BY told)::BIGINT AS whole
        FROM _merged
    ),

    _call AS (
        SELECT
            told,
            any_value(whole) AS count,
            sum(dur_ns * count)::BIGINT AS total_ns,
            middle_of(dur_ns, upto, whole) AS median_ns,
            min(dur_ns) AS min_ns,
            max(dur_ns) AS max_ns
        FROM _upto
        GROUP BY told
    )

    SELECT
        coalesce(t.name, '(unnamed)') AS name,
        c.* EXCLUDE (told)
    FROM _call AS c
    LEFT JOIN _told AS t ON c.told = t.id;
