-- kernel_name: what a kernel is, told from its name alone.
--
-- Question: is this kernel communication or which kind of computation, and on tensor cores?
-- Grain:    one row per full kernel name
-- Needs:    _kernel_class, _class_rank
-- Params:
-- Columns:
--   name_id       BIGINT     the full name's id
--   name          VARCHAR    full demangled name
--   short_name    VARCHAR    base name
--   comm          BOOLEAN    true for collectives
--   class         VARCHAR    comm or one of model.CLASSES
--   class_rank    UTINYINT   position in model.CLASSES, NULL for comm
--   tensor_core   VARCHAR    yes, no or unknown; what is no matrix product does not use them
--   op            VARCHAR    the collective, NULL for computation
WITH
_classed AS (
    SELECT
        name_id,
        name,
        short_name,
        head,
        coalesce(class, 'other') AS class, -- noqa: RF04
        coalesce(class, 'other') = 'comm' AS comm
    FROM _kernel_class
),

_token AS (
    SELECT
        name_id,
        name,
        short_name,
        head,
        comm,
        class,
        -- Only where they are asked for: a regular expression over every name is not free.
        CASE
            WHEN class NOT IN ('attention', 'gemm', 'conv', 'fused_comm_gemm') THEN NULL
            WHEN
                regexp_matches(
                    head,
                    '(?i)[sdcz]gemm|simt|ffma|gemv|gemmsn|gemmk1|split_?k_?reduce'
                    || '|(?:^|[ :])dot_kernel|reduce_1block|scudnn'
                )
                AND NOT regexp_matches(
                    head, '(?i)tensorop|tf32|half|bf16|f16|fp16|bfloat|e4m3|e5m2|[sh]884'
                ) THEN 'no'
            WHEN
                regexp_matches(
                    head,
                    '(?i)nvjet|tensorop|xmma|wgmma|hmma|umma|wmma|s1688|16816|[shid]884|i8816'
                    || '|bf16|f16|tf32|e4m3|e5m2|flash|fmha|sm_?(?:8[0-9]|9[0-9]|1[0-2][0-9])'
                    || '|tensor[0-9]+x[0-9]+x[0-9]+'
                ) THEN 'yes'
            ELSE 'unknown'
        END AS matrix_unit,
        -- NCCL's names tell the collective, not the algorithm: one kernel carries them all.
        CASE
            WHEN comm
                THEN lower(coalesce(
                    nullif(regexp_extract(
                        head,
                        '(?i)^(?:void\s+)?(?:_Z\d+)?[mn]s?ccl(?:Dev|Symk?Dev)?(?:Kernel)?_?'
                        || '(AllReduce|AllGather|ReduceScatter|AllToAll|Broadcast|Reduce|SendRecv)',
                        1
                    ), ''),
                    regexp_extract(
                        head, '^(?:void\s+)?(?:\(anonymous namespace\)|<unnamed>|[\w:])*'
                    )
                ))
        END AS function_path
    FROM _classed
)

SELECT
    _token.name_id,
    _token.name,
    _token.short_name,
    _token.comm,
    _token.class,
    _class_rank.class_rank,
    coalesce(
        _token.matrix_unit,
        CASE WHEN _token.class IN ('other', 'triton_other') THEN 'unknown' ELSE 'no' END
    ) AS tensor_core,
    -- Several words may stand in one name (dispatch over an all-to-all): the telling one first.
    CASE
        WHEN NOT _token.comm THEN NULL
        WHEN regexp_matches(_token.function_path, 'all_?reduce|cross_device_reduce|quick_?reduce|lamport')
            THEN 'all_reduce'
        WHEN regexp_matches(_token.function_path, 'reduce_?scatter|userbuffers\w*_rs')
            THEN 'reduce_scatter'
        WHEN regexp_matches(_token.function_path, 'all_?to_?all|a2a|dispatch|combine|deep_?ep|hybrid_?ep')
            THEN 'all_to_all'
        WHEN regexp_matches(_token.function_path, 'all_?gather|fcollect|userbuffers\w*_ag')
            THEN 'all_gather'
        WHEN regexp_matches(_token.function_path, 'broadcast') THEN 'broadcast'
        WHEN regexp_matches(_token.function_path, 'barrier|sync_all') THEN 'barrier'
        WHEN regexp_matches(_token.function_path, 'send|recv|nvshmem\w*_(?:put|get)') THEN 'send_recv'
        -- A reduction over NVSHMEM or userbuffers leaves its result on every member.
        WHEN regexp_matches(_token.function_path, 'nvshmem\w*reduc|rdxn|userbuffers\w*(?:sum|_rr|_rw|_mc)')
            THEN 'all_reduce'
        WHEN regexp_matches(_token.function_path, '(?:one|two)_?shot\w*reduce') THEN 'all_reduce'
        WHEN regexp_matches(_token.function_path, 'reduce') THEN 'reduce'
        ELSE 'generic'
    END AS op
FROM _token
LEFT JOIN _class_rank ON _token.class = _class_rank.class
ORDER BY _token.name_id
