-- Work of PyTorch's operators: floating-point operations and bytes from their shapes, and the time their kernels take.
--
-- Answers: How much work is each call of a matrix product, convolution, attention, normalization, reduction or
--   elementwise operator, and how long is the device busy with it?
--   Kernels, copies and fills belong to the innermost such operator around their launch; their time is the union of
--   their spans.  Calls that launch nothing, and traces without shapes (record_shapes=True), are left out.  A
--   multiply-add is two operations.
--   gemm           2 M N K, and M N for a bias; each matrix moved once
--   convolution    2 times outputs times the weights of one output, and 1 per output for a bias, which is not counted
--                  again where a call within adds it; backward: the first for each gradient that is computed
--   attention      2 (D + Dv) B H Sq Sk, half of that if causal; backward 2.5 times that; the scores stay on the chip
--   normalization  5 per element and 6 per channel; backward 9 per element; inputs and outputs moved once
--   reduction      1 per element read
--   elementwise    1 per element written, also for copies; operands and result moved once, a number as 4 bytes
--   Data that stays in a cache between operators is counted as moved too, so the intensity is a lower bound.  The
--   formulas are in statistics/operator_work.py.
--
-- Limits: The operations of operators that are not listed, and of fused kernels of torch.compile, are not known.
--
-- Helper: used by roofline
--
-- Needs: events
--
-- Sources: events, gpu_events, dtype_sizes, selected_runs
--
-- Parameters: runs
--
-- Columns:
--   run_id         VARCHAR         run
--   file_id        VARCHAR         file of the trace
--   line           BIGINT          position of the operator's event in the trace
--   rank           INTEGER         rank
--   train_step     BIGINT          step
--   name           VARCHAR         operator
--   family         VARCHAR         gemm convolution attention normalization reduction elementwise
--   shapes         VARCHAR         shapes of its inputs
--   dtype          VARCHAR         element type of its first tensor that counts
--   flops          DOUBLE FLOP     floating-point operations; NULL where the trace lacks what is needed to compute them
--   moved_bytes    BIGINT bytes    bytes read and written
--   kernels        BIGINT          kernels, copies and fills that it launched
--   kernel_ns      BIGINT ns       time for which the device is busy with them
WITH
families AS (
    SELECT family, unnest(operators_of(family)) AS name
    FROM (VALUES ('gemm'), ('convolution'), ('attention'), ('normalization'), ('reduction'), ('elementwise'))
        AS listed(family)),
listed AS (
    SELECT e.*, family, max(CASE WHEN family = 'convolution' THEN start_ns + duration_ns END) OVER (
            PARTITION BY file_id, process, thread ORDER BY start_ns, duration_ns DESC, line
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS convolves_until_ns
    FROM events AS e JOIN families USING (name)
    WHERE category = 'cpu_op' AND duration_ns IS NOT NULL AND json_valid(args)
        AND run_id IN (FROM selected_runs(runs := runs))),
-- A convolution that adds its bias by a call within has counted it.
operators AS (
    SELECT * EXCLUDE (convolves_until_ns),
        row_number() OVER (PARTITION BY file_id, process, thread ORDER BY start_ns, line) AS position
    FROM listed WHERE NOT (name = 'aten::add_' AND coalesce(convolves_until_ns >= start_ns + duration_ns, false))),
launches AS (
    SELECT file_id, line, start_ns, end_ns, launch_process AS process, launch_thread AS thread,
        launch_start_ns AS launched_ns,
        row_number() OVER (PARTITION BY file_id, launch_process, launch_thread ORDER BY launch_start_ns, line) AS position
    FROM gpu_events(runs := runs) WHERE class <> 'communication' AND launch_start_ns IS NOT NULL),
spans AS (
    SELECT file_id, process, thread, list(start_ns ORDER BY position) AS starts,
        list(start_ns + duration_ns ORDER BY position) AS ends
    FROM operators GROUP BY ALL),
times AS (
    SELECT file_id, process, thread, list(launched_ns ORDER BY position) AS times, list(line ORDER BY position) AS lines
    FROM launches GROUP BY ALL),
owners AS (
    SELECT file_id, process, thread, unnest(innermost(starts, ends, times)) AS position, unnest(lines) AS kernel_line
    FROM spans JOIN times USING (file_id, process, thread)),
busy AS (
    SELECT o.file_id, o.process, o.thread, o.position, l.start_ns, l.end_ns, max(l.end_ns) OVER (
        PARTITION BY o.file_id, o.process, o.thread, o.position ORDER BY l.start_ns, l.end_ns
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS covered_ns
    FROM owners AS o JOIN launches AS l ON l.file_id = o.file_id AND l.line = o.kernel_line WHERE o.position IS NOT NULL),
timed AS (
    SELECT file_id, process, thread, position, count(*) AS kernels,
        sum(greatest(end_ns - greatest(start_ns, covered_ns), 0))::BIGINT AS kernel_ns
    FROM busy GROUP BY ALL),
calls AS MATERIALIZED (
    SELECT o.*, kernels, kernel_ns, args->['Input Dims', 'Input type', 'Concrete Inputs'] AS arguments
    FROM operators AS o JOIN timed USING (file_id, process, thread, position)),
-- Many calls share few sets of arguments: the work is counted once for each set.
arguments_read AS (
    SELECT name, arguments, TRY_CAST(arguments[1] AS BIGINT[][]) AS shapes,
        TRY_CAST(arguments[2] AS VARCHAR[]) AS dtypes, TRY_CAST(arguments[3] AS VARCHAR[]) AS concrete
    FROM (SELECT DISTINCT name, arguments FROM calls)),
sizes AS (SELECT map(list(dtype), list(element_bytes)) AS bytes_of FROM dtype_sizes()),
counted AS (
    SELECT name, arguments, dtypes[CASE WHEN name IN ('aten::addmm', 'aten::baddbmm') THEN 2 ELSE 1 END] AS dtype,
        operator_work(name, shapes, dtypes, list_transform(dtypes, lambda t: bytes_of[lower(t)]), concrete) AS work
    FROM arguments_read CROSS JOIN sizes)
SELECT run_id, file_id, line, rank, train_step, name, family, arguments[1]->>'$' AS shapes, counted.dtype, work.flops,
    work.moved_bytes, kernels, kernel_ns
FROM calls JOIN counted USING (name, arguments)
ORDER BY run_id, file_id, line
