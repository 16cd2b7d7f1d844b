-- nccl_member: which rank of which communicator a process became.
--
-- Question: who is who, as NCCL knows it?
-- Grain:    one row per (process, communicator)
-- Needs:    _nccl_call
-- Params:
-- Columns:
--   pid     BIGINT
--   rank    INTEGER
--   ranks   INTEGER
--   device  INTEGER
--   comm    VARCHAR
SELECT DISTINCT
    pid_of(process_of(thread)) AS pid,
    rank,
    ranks,
    device,
    comm
FROM _nccl_call
WHERE op IN ('comm_init', 'comm_split') AND rank IS NOT NULL
ORDER BY pid, ranks DESC, comm, rank, device
LIMIT 10000
