-- nccl_domain: domains in which NCCL may speak.
--
-- Question: where are NCCL's calls?
-- Grain:    one row per (domain, name of a call)
-- Needs:    _nvtx, nvtx_domain, string
-- Params:
-- Columns:
--   domain   BIGINT
--   name_id  BIGINT
--   name     VARCHAR
--   sure     BOOLEAN   the domain is named NCCL
WITH
_spoken AS (
    SELECT DISTINCT
        domain,
        name_id
    FROM _nvtx
    WHERE domain != 0
)

SELECT
    _spoken.domain,
    _spoken.name_id,
    string.value AS name,
    _spoken.domain IN (SELECT nvtx_domain.domain FROM nvtx_domain WHERE nvtx_domain.name = 'NCCL') AS sure
FROM _spoken
INNER JOIN string ON _spoken.name_id = string.id
WHERE
    regexp_matches(string.value, '^p?nccl[A-Z]')
    -- Domains are numbered per process, and a window cut from a trace may have lost their names.
    OR _spoken.domain IN (SELECT nvtx_domain.domain FROM nvtx_domain WHERE nvtx_domain.name = 'NCCL')
ORDER BY _spoken.domain, _spoken.name_id
