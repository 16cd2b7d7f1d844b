-- memory_event: device memory taken and given back.
--
-- Question: how much device memory was in use?
-- Grain:    one row per allocation or release
-- Needs:    _raw_memory
-- Params:
-- Columns:
--   process    BIGINT
--   device     BIGINT
--   at_ns      BIGINT
--   bytes      BIGINT
--   operation  INTEGER   0 allocation, 1 release
--   kind       INTEGER
--   address    BIGINT
SELECT
    process_of(process_id) AS process,
    coalesce(device, 0) AS device,
    at_ns,
    bytes,
    try_cast(operation AS INTEGER) AS operation,
    try_cast(kind AS INTEGER) AS kind,
    address
FROM _raw_memory
ORDER BY process_of(process_id), device, at_ns, address, operation, bytes, kind
