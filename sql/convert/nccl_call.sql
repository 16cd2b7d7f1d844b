-- nccl_call: NCCL calls and what they say of themselves.
--
-- Question: which collective was asked for, how large, on which communicator?
-- Grain:    one row per call
-- Needs:    _nccl_call
-- Params:
-- Columns:
--   process   BIGINT
--   thread    BIGINT
--   start_ns  BIGINT
--   end_ns    BIGINT
--   op        VARCHAR
--   bytes     BIGINT
--   comm      VARCHAR   the communicator's hash, the same on all its ranks
--   ranks     INTEGER
--   rank      INTEGER
--   device    INTEGER
--   peer      INTEGER
--   root      INTEGER
--   comm_name VARCHAR   the communicator's name, where the program gave it one
SELECT
    process_of(thread) AS process,
    thread,
    start_ns,
    end_ns,
    op,
    bytes,
    comm,
    ranks,
    rank,
    device,
    peer,
    root,
    comm_name
FROM _nccl_call
ORDER BY thread, start_ns, end_ns DESC, op, comm, peer
