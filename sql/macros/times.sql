-- times: which recorded times are no times.

-- Why a span cannot be used, NULL if it can. A start of 0 and negative times are valid. The limit
-- is the longest believable duration, NULL where nothing tells one; `greatest` keeps the
-- subtraction inside 64 bits.
CREATE OR REPLACE MACRO time_fault(start_ns, end_ns, limit_ns) AS
    CASE
        WHEN start_ns IS NULL OR end_ns IS NULL OR end_ns = -1 OR (start_ns = 0 AND end_ns = 0) THEN 'no_timestamp'
        WHEN end_ns < start_ns OR start_ns < greatest(end_ns, -4611686018427387904) - limit_ns THEN 'impossible_duration'
    END;

-- The process part of a global thread or process id. 0 where the export has no such id: all that it
-- recorded is then one process.
CREATE OR REPLACE MACRO process_of(global_id) AS coalesce(global_id, 0) >> 24;

-- Which of the files of a table a process's rows go to. Processes are mostly numbered in a row, so
-- each has its own; were there a file for every process, a crafted trace could ask for thousands.
CREATE OR REPLACE MACRO part_of(process) AS (process & 31)::UTINYINT;

-- The process id that the operating system knows.
CREATE OR REPLACE MACRO pid_of(process) AS process & 16777215;

-- emit_nvtx appends what varies from call to call; the operation is what stands before.
CREATE OR REPLACE MACRO plain_text(value) AS
    CASE
        WHEN contains(value, ' = ') THEN regexp_replace(value, '(?s), (?:seq|op_id|sizes) = .*$', '')
        ELSE value
    END;

-- Whether a framework, not a person, named the range.
CREATE OR REPLACE MACRO is_framework(value) AS
    contains(value, ', op_id = ')
    OR starts_with(value, 'aten::') OR starts_with(value, 'autograd::') OR starts_with(value, 'FSDP::')
    OR starts_with(value, 'torch::') OR starts_with(value, 'c10d::') OR starts_with(value, 'CheckpointFunction');

-- The id of a text that StringIds does not hold: negative, where no id of nsys is.
CREATE OR REPLACE MACRO text_id(value) AS
    CASE WHEN value IS NOT NULL THEN -1 - (hash(value) >> 1)::BIGINT END;

-- Whether a range never closed. A range may end at 0 if it began before it.
CREATE OR REPLACE MACRO is_open(start_ns, end_ns) AS
    end_ns IS NULL OR (end_ns IN (0, -1) AND start_ns > 0);

-- Why an annotation cannot be used, NULL if it can. A mark (34) has no end; what never closed has
-- no duration that could be impossible.
CREATE OR REPLACE MACRO range_fault(event_type, start_ns, end_ns, limit_ns) AS
    CASE
        WHEN event_type = 34 OR is_open(start_ns, end_ns)
            THEN CASE WHEN start_ns IS NULL THEN 'no_timestamp' END
        ELSE time_fault(start_ns, end_ns, limit_ns)
    END;

-- A duration in 32 bits, for sorting: to the ns up to two seconds, to 4 us up to two hours. `greatest`
-- keeps the subtraction inside 64 bits, as above.
CREATE OR REPLACE MACRO short_duration(start_ns, end_ns) AS
    CASE
        WHEN end_ns < start_ns THEN 0::UINTEGER
        WHEN start_ns <= greatest(end_ns, -4611686018427387904) - 8796093022208 THEN 4294967295::UINTEGER
        WHEN end_ns - start_ns >= 2147483648 THEN (2147483648 + ((end_ns - start_ns) >> 12))::UINTEGER
        ELSE (end_ns - start_ns)::UINTEGER
    END;
