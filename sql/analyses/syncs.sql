-- syncs: calls in which the host waits for the GPU, by call, kind and place in the code.
--
-- Question: which waits cost GPU time?
-- Grain:    one row per (api, kind, path, call site)
-- Needs:    blocking_call, sync_claim, host_range_bucket, call_path, call_site, string
-- Params:
--   $shift INTEGER  as host_range_bucket
--   $whole   BOOLEAN  the window is the whole capture: it owns everything
--   $most  INTEGER  rows listed
-- Columns:
--   api             VARCHAR  name without the ABI suffix
--   kind            VARCHAR  as blocking_call
--   nvtx_path       VARCHAR  enclosing ranges of the thread; NULL outside any
--   callsite        VARCHAR  as call_site; NULL where no call chain was recorded
--   count           BIGINT   calls that a kept step owns
--   host_ns         BIGINT   their summed length: waiting while the GPU works costs nothing
--   idle_caused_ns  BIGINT   GPU idle time that they caused
--   bytes           BIGINT   size of those calls' copies, summed; NULL without one
--   copy_kind       VARCHAR  direction of the copies, as the kind of memory; NULL without one
--   total           BIGINT   how many rows there are
WITH
_owned AS (
    SELECT
        c.*,
        $whole OR h.step IS NOT NULL AS owned
    FROM blocking_call AS c
    LEFT JOIN host_range_bucket AS h
        ON c.start_ns >> $shift = h.slice AND c.start_ns >= h.start_ns AND c.start_ns < h.end_ns
),

_caused AS (
    SELECT
        call,
        sum(end_ns - start_ns) AS ns
    FROM sync_claim
    GROUP BY call
)

SELECT
    CASE
        WHEN s.value LIKE 'cuda%' THEN regexp_replace(s.value, '(_pt[sd][zs])?_v\d{4,5}$', '')
        ELSE s.value
    END AS api,
    o.kind,
    p.path AS nvtx_path,
    k.site AS callsite,
    count(*) FILTER (WHERE o.owned) AS count,
    coalesce(sum(o.end_ns - o.start_ns) FILTER (WHERE o.owned), 0)::BIGINT AS host_ns,
    coalesce(sum(c.ns), 0)::BIGINT AS idle_caused_ns,
    sum(o.bytes) FILTER (WHERE o.owned)::BIGINT AS bytes,
    copy_word(max(o.copy_kind)) AS copy_kind,
    count(*) OVER () AS total
FROM _owned AS o
INNER JOIN string AS s ON o.name_id = s.id
LEFT JOIN _caused AS c ON o.call = c.call
LEFT JOIN call_path AS p ON o.call = p.call
LEFT JOIN call_site AS k ON o.callchain = k.callchain
WHERE o.owned OR c.ns > 0
GROUP BY ALL
ORDER BY idle_caused_ns DESC, host_ns DESC, api, kind, nvtx_path, callsite
LIMIT $most
