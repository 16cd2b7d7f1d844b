-- step_name: what each kernel name says of a training step.
--
-- Question: which kernels belong to an optimizer, which to a forward or backward pass?
-- Grain:    one row per kernel name
-- Needs:    kernel_name
-- Columns:
--   name_id    BIGINT   kernel name
--   optimizer  BOOLEAN  of the class optimizer
--   updates    BOOLEAN  an optimizer's own functor, or a foreach that only optimizers need
--   backward   BOOLEAN  runs in backward only
--   passes     BOOLEAN  runs in a pass over the model, never inside an optimizer
WITH
_kernel AS (
    SELECT
        name_id,
        coalesce(class, 'other') AS class,
        name,
        regexp_matches(name, '(?i)bwd|backward|bprop|dgrad|wgrad|(?:^|[^a-z])bn_bw') AS backward
    FROM kernel_name
)

SELECT
    name_id,
    class = 'optimizer' AS optimizer,
    class = 'optimizer'
    AND (
        regexp_matches(
            name,
            '(?i)(?:^|[^h])adam|adagrad|adafactor|adadelta|rmsprop|novograd'
            || '|sgd(?:_|functor|momentum|math|[<(]|$)|lamb(?:[^d]|$)|(?:^|[^a-z])lion|LionFunctor|kOptimizer'
        )
        -- Models call addcmul and lerp too, but not on lists of tensors.
        OR regexp_matches(name, '(?i)(?:multi_tensor|foreach).*(?:addcdiv|addcmul|lerp|PointwiseOp|TernaryOp)')
        OR regexp_matches(name, '^triton_for_\w*(?:addcdiv|addcmul|lerp)')
    ) AS updates,
    backward,
    backward OR class IN ('attention', 'conv', 'norm', 'loss_softmax', 'embedding', 'rope', 'moe') AS passes
FROM _kernel
ORDER BY name_id
