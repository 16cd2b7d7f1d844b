-- doubt: how much of what a GPU ran this capture does not tell.
--
-- Question: is what was read enough to believe what is measured from it?
-- Grain:    one row
-- Needs:    _op, string
-- Params:
-- Columns:
--   kernels       BIGINT  kernel rows
--   kernels_lost  BIGINT  of them without usable times
--   graphs        BIGINT  whole graphs with usable times
--   others        BIGINT  copies and sets
--   others_lost   BIGINT  of them without usable times
--   unnamed       BIGINT  kernels with usable times whose name is not in the capture
WITH
_name AS (
    SELECT id
    FROM string
    WHERE value IS NOT NULL
),

_kind AS (
    SELECT
        kind,
        fault IS NOT NULL AS lost,
        name_id,
        short_id,
        count(*) AS number
    FROM _op
    GROUP BY ALL
),

_told AS (
    SELECT
        _kind.kind,
        _kind.lost,
        _kind.number,
        _kind.kind = 'kernel' AND NOT _kind.lost AND _full.id IS NULL AND _short.id IS NULL AS unnamed
    FROM _kind
    LEFT JOIN _name AS _full ON _kind.name_id = _full.id
    LEFT JOIN _name AS _short ON _kind.short_id = _short.id
)

SELECT
    coalesce(sum(number) FILTER (WHERE kind = 'kernel'), 0)::BIGINT AS kernels,
    coalesce(sum(number) FILTER (WHERE kind = 'kernel' AND lost), 0)::BIGINT AS kernels_lost,
    coalesce(sum(number) FILTER (WHERE kind = 'graph' AND NOT lost), 0)::BIGINT AS graphs,
    coalesce(sum(number) FILTER (WHERE kind NOT IN ('kernel', 'graph')), 0)::BIGINT AS others,
    coalesce(sum(number) FILTER (WHERE kind NOT IN ('kernel', 'graph') AND lost), 0)::BIGINT AS others_lost,
    coalesce(sum(number) FILTER (WHERE unnamed), 0)::BIGINT AS unnamed
FROM _told
