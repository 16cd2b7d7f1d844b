-- groups: what the name of a group of ranks says.

-- The parallelism that a group serves, by the names that Megatron (TENSOR_MODEL_PARALLEL_GROUP),
-- PyTorch's device meshes (mesh_tp) and FSDP give; NULL where the name does not tell, as for groups
-- over two of them. Of Megatron's modules only those name a group that communicate for it alone.
CREATE OR REPLACE MACRO group_kind(value) AS
    CASE
        WHEN starts_with(value, 'FSDP::') THEN 'fsdp'
        WHEN regexp_matches(value, '(?i)tensor_and_|model_and_|_and_tensor') THEN NULL
        WHEN regexp_matches(value, '(?i)data_parallel_group|\bmesh_(dp|ddp|dp_replicate|replicate|batch)\b') THEN 'dp'
        WHEN regexp_matches(value, '(?i)\bmesh_(fsdp|dp_shard|dp_shard_cp|shard)\b') THEN 'fsdp'
        WHEN regexp_matches(value, '(?i)tensor_(model_)?parallel_group|\bmesh_tp\b|\btensor_parallel\.mappings\b') THEN 'tp'
        WHEN regexp_matches(value, '(?i)expert_(model_)?parallel_group|\bmesh_ep\b') THEN 'ep'
        WHEN regexp_matches(value, '(?i)context_parallel_group|\bmesh_cp\b') THEN 'cp'
        WHEN regexp_matches(
            value, '(?i)pipeline_(model_)?parallel_group|\bmesh_pp\b|\bpipeline_parallel\.p2p_communication\b'
        ) THEN 'pp'
    END;
