-- host_rows: how much the process's host side recorded.
--
-- Question: what does the capture hold beside the device?
-- Grain:    one row
-- Needs:    api, nvtx
-- Params:
--   $process BIGINT   the lane's process
-- Columns:
--   api_calls    BIGINT  CUDA calls
--   nvtx_ranges  BIGINT  annotated ranges, open ones included
SELECT
    (SELECT count(*) FROM api WHERE process = $process) AS api_calls,
    (SELECT count(*) FROM nvtx WHERE process = $process AND kind <> 'mark') AS nvtx_ranges
