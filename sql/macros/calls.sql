-- calls: which recorded calls count.

-- Whether an NCCL call moves data: those that manage communicators and groups do not, and among one
-- rank there is nothing to send.
CREATE OR REPLACE MACRO moves_data(op, ranks) AS
    op NOT IN ('comm_init', 'comm_split', 'comm_destroy', 'group_start', 'group_end') AND coalesce(ranks, 2) > 1;

-- Whether no other row encloses a call of its thread, for QUALIFY: a runtime call and the driver
-- call that it makes are one. Of two with the same times the lower name is the outer one.
CREATE OR REPLACE MACRO is_outermost(thread, start_ns, end_ns, name_id) AS
    coalesce(
        end_ns > max(end_ns) OVER (
            PARTITION BY thread
            ORDER BY start_ns, end_ns DESC, name_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), true
    );
