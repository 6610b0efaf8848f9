-- Work of PyTorch's operators: floating-point operations and bytes from their shapes, and the time their kernels take.
--
-- Answers: What does each call of a matrix product, convolution, attention, normalisation or elementwise operator do,
--   and how long is the device busy with it?
--   Kernels, copies and fills belong to the innermost such operator around their launch; their time is the union of
--   their spans.  Calls that launch nothing are not here, nor traces without shapes (record_shapes=True).
--   A multiply-add is two operations.
--   gemm           2 M N K, and M N for a bias; each matrix moved once
--   convolution    2 times outputs times the weights of one output; backward: the same for each gradient asked for
--   attention      2 (D + Dv) B H Sq Sk, of which half where causal; backward 2.5 times that; no score leaves the chip
--   normalisation  5 per element and 6 per channel; backward 9 per element; inputs and outputs moved once
--   reduction      1 per element read
--   elementwise    1 per element written, that of a copy too; operands and result moved once, a number as 4 bytes
--   Data that stays in a cache between operators is counted as moved: an intensity from shapes is a lower bound.
--
-- Helper: of roofline
--
-- Sources: events, gpu_events, dtype_sizes, selected_runs
--
-- Parameters:
--   runs := ''              SQL condition over the columns of `runs`, as text; empty takes all
--
-- Columns:
--   run_id        VARCHAR         run
--   file_id       VARCHAR         file of the trace
--   line          BIGINT          event of the operator
--   rank          INTEGER         rank
--   train_step    BIGINT          step
--   name          VARCHAR         operator
--   family        VARCHAR         gemm convolution attention normalisation reduction elementwise
--   shapes        VARCHAR         shapes of its inputs
--   dtype         VARCHAR         element type of its first tensor that counts
--   flops         DOUBLE FLOP     floating-point operations; NULL where the trace lacks what they follow from
--   moved_bytes   BIGINT bytes    bytes read and written
--   kernels       BIGINT          kernels, copies and fills that it launched
--   kernel_ns     BIGINT ns       time the device is busy with them
WITH
families AS (
    SELECT unnest(string_split(names, ' ')) AS name, family
    FROM (VALUES
        ('gemm', 'aten::mm aten::addmm aten::bmm aten::baddbmm'),
        ('convolution', 'aten::convolution aten::convolution_backward'),
        ('attention', 'aten::scaled_dot_product_attention aten::_scaled_dot_product_flash_attention '
            || 'aten::_scaled_dot_product_efficient_attention aten::_scaled_dot_product_cudnn_attention '
            || 'aten::_scaled_dot_product_flash_attention_backward aten::_scaled_dot_product_cudnn_attention_backward '
            || 'aten::_scaled_dot_product_efficient_attention_backward'),
        ('normalisation', 'aten::native_layer_norm aten::native_batch_norm aten::cudnn_batch_norm '
            || 'aten::miopen_batch_norm aten::native_batch_norm_backward aten::native_layer_norm_backward '
            || 'aten::batch_norm aten::layer_norm'),
        ('reduction', 'aten::sum aten::mean aten::linalg_norm aten::max aten::min aten::amax aten::prod aten::cumsum'),
        ('elementwise', 'aten::add aten::add_ aten::sub aten::sub_ aten::mul aten::mul_ aten::div aten::div_ '
            || 'aten::threshold_backward aten::copy_ aten::sigmoid aten::sigmoid_ aten::tanh aten::tanh_ aten::relu '
            || 'aten::relu_ aten::gelu aten::silu aten::silu_ aten::clamp_min aten::clamp_min_ aten::exp aten::exp_ '
            || 'aten::sqrt aten::rsqrt aten::neg aten::abs aten::pow aten::gelu_backward aten::silu_backward '
            || 'aten::sigmoid_backward aten::tanh_backward')) AS listed(family, names)),
sizes AS (SELECT map(list(dtype), list(element_bytes)) AS bytes_of FROM dtype_sizes()),
operators AS (
    SELECT e.*, family, row_number() OVER (PARTITION BY file_id, process, thread ORDER BY start_ns, line) AS place
    FROM events AS e JOIN families USING (name)
    WHERE category = 'cpu_op' AND duration_ns IS NOT NULL AND json_valid(args)
        AND run_id IN (FROM selected_runs(runs := runs))),
launches AS (
    SELECT file_id, line, start_ns, end_ns, launch_process AS process, launch_thread AS thread,
        launch_start_ns AS launched_ns,
        row_number() OVER (PARTITION BY file_id, launch_process, launch_thread ORDER BY launch_start_ns, line) AS place
    FROM gpu_events(runs := runs) WHERE class <> 'communication' AND launch_start_ns IS NOT NULL),
spans AS (
    SELECT file_id, process, thread, list(start_ns ORDER BY place) AS starts,
        list(start_ns + duration_ns ORDER BY place) AS ends
    FROM operators GROUP BY ALL),
times AS (
    SELECT file_id, process, thread, list(launched_ns ORDER BY place) AS times, list(line ORDER BY place) AS lines
    FROM launches GROUP BY ALL),
owners AS (
    SELECT file_id, process, thread, unnest(innermost(starts, ends, times)) AS place, unnest(lines) AS kernel_line
    FROM spans JOIN times USING (file_id, process, thread)),
busy AS (
    SELECT o.file_id, o.process, o.thread, o.place, l.start_ns, l.end_ns, max(l.end_ns) OVER (
        PARTITION BY o.file_id, o.process, o.thread, o.place ORDER BY l.start_ns, l.end_ns
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS covered_ns
    FROM owners AS o JOIN launches AS l ON l.file_id = o.file_id AND l.line = o.kernel_line WHERE o.place IS NOT NULL),
timed AS (
    SELECT file_id, process, thread, place, count(*) AS kernels,
        sum(greatest(end_ns - greatest(start_ns, covered_ns), 0))::BIGINT AS kernel_ns
    FROM busy GROUP BY ALL),
read AS (
    SELECT o.*, kernels, kernel_ns, bytes_of,
        TRY_CAST(args->'Input Dims' AS BIGINT[][]) AS d, TRY_CAST(args->'Input type' AS VARCHAR[]) AS types,
        TRY_CAST(args->'Concrete Inputs' AS VARCHAR[]) AS given
    FROM operators AS o JOIN timed USING (file_id, process, thread, place) CROSS JOIN sizes),
sized AS (
    SELECT *, list_transform(d, lambda s: CASE WHEN len(s) = list_count(s) THEN coalesce(list_product(s), 1) END) AS n,
        list_transform(types, lambda t: bytes_of[lower(t)]) AS b,
        list_transform(types, lambda t: regexp_matches(lower(t), 'float|half|double|complex')) AS is_float,
        list_transform(list_zip(list_reverse(d[1]), list_reverse(d[2])), lambda z: greatest(z[1], z[2])) AS together,
        ends_with(name, '_') AS in_place, contains(name, 'backward') AS is_backward,
        TRY_CAST(given[4] AS BIGINT[]) AS strides, TRY_CAST(given[5] AS BIGINT[]) AS padding,
        TRY_CAST(given[6] AS BIGINT[]) AS dilation, TRY_CAST(given[8] AS BIGINT[]) AS output_padding,
        CASE WHEN family = 'convolution' THEN given[CASE WHEN contains(name, 'backward') THEN 8 ELSE 7 END] = 'True' END
            AS transposed,
        TRY_CAST(lower(given[11]) AS BOOLEAN[]) AS gradients,
        TRY_CAST(given[2] AS BIGINT[]) AS over_axes
    FROM read),
shaped AS (
    SELECT *,
        coalesce(list_product(together), 1) AS n_out,
        CASE WHEN in_place OR len(d[2]) = 0 THEN b[1] WHEN len(d[1]) = 0 THEN b[2]
            WHEN is_float[1] = is_float[2] THEN greatest(b[1], b[2]) WHEN is_float[1] THEN b[1] ELSE b[2] END AS b_out,
        -- Outputs of a convolution: given backwards, reckoned forwards.
        CASE WHEN family <> 'convolution' THEN NULL WHEN is_backward THEN n[1]
            ELSE d[1][1] * CASE WHEN transposed THEN d[2][2] * given[9]::BIGINT ELSE d[2][1] END
                * list_product(list_transform(range(1, len(strides) + 1), lambda i: CASE WHEN transposed
                    THEN (d[1][i + 2] - 1) * strides[i] - 2 * padding[i] + dilation[i] * (d[2][i + 2] - 1)
                        + output_padding[i] + 1
                    ELSE (d[1][i + 2] + 2 * padding[i] - dilation[i] * (d[2][i + 2] - 1) - 1) // strides[i] + 1 END))
            END AS n_conv,
        CASE WHEN over_axes IS NULL OR name IN ('aten::cumsum', 'aten::max', 'aten::min') THEN NULL
            ELSE list_product(list_transform(over_axes, lambda a: d[1][CASE WHEN a < 0 THEN len(d[1]) + a ELSE a END + 1]))
            END AS n_reduced
    FROM sized),
counted AS (
    SELECT *,
        CASE family
            WHEN 'gemm' THEN CASE name
                WHEN 'aten::mm' THEN 2 * n[1] * d[2][-1] WHEN 'aten::bmm' THEN 2 * n[1] * d[2][-1]
                ELSE (2 * d[2][-1] + 1) * n[2] / d[2][-1] * d[3][-1] END
            WHEN 'convolution' THEN CASE WHEN is_backward
                THEN 2 * CASE WHEN transposed THEN n[2] ELSE n[1] END
                    * n[3] / d[3][1] * (gradients[1]::INTEGER + gradients[2]::INTEGER)
                ELSE 2 * CASE WHEN transposed THEN n[1] ELSE n_conv END * n[2] / d[2][1]
                    + CASE WHEN len(d[3]) > 0 THEN n_conv ELSE 0 END END
            WHEN 'attention' THEN CASE WHEN is_backward
                THEN 5 * n[2] / d[2][-1] * (d[2][-1] + d[4][-1]) * d[3][-2]
                    * CASE WHEN list_contains(given[8:12], 'True') THEN 0.5 ELSE 1 END
                ELSE 2 * n[1] / d[1][-1] * (d[1][-1] + d[3][-1]) * d[2][-2]
                    * CASE WHEN list_contains(given[5:7], 'True') THEN 0.5 ELSE 1 END END
            WHEN 'normalisation' THEN CASE WHEN is_backward THEN 9 * n[1]
                ELSE 5 * n[1] + 6 * greatest(n[2], CASE WHEN contains(name, 'layer') THEN n[3] ELSE 0 END) END
            WHEN 'reduction' THEN n[1]
            WHEN 'elementwise' THEN CASE WHEN len(d) > 1 AND name <> 'aten::copy_' THEN n_out ELSE n[1] END
            END::DOUBLE AS flops,
        CASE family
            WHEN 'gemm' THEN CASE WHEN name IN ('aten::mm', 'aten::bmm')
                THEN b[1] * n[1] + b[2] * n[2] + greatest(b[1], b[2]) * n[1] / d[1][-1] * d[2][-1]
                ELSE b[1] * n[1] + b[2] * n[2] + b[3] * n[3] + b[2] * n[2] / d[2][-1] * d[3][-1] END
            WHEN 'convolution' THEN CASE WHEN is_backward
                THEN (n[1] + n[2] + n[3]) * b[1] * (gradients[1]::INTEGER + gradients[2]::INTEGER)
                ELSE (n[1] + n[2] + n_conv + CASE WHEN len(d[3]) > 0 THEN n[3] ELSE 0 END) * b[1] END
            WHEN 'attention' THEN CASE WHEN is_backward
                THEN b[1] * (2 * n[1] + 2 * n[2] + 2 * n[3] + 2 * n[4])
                ELSE b[1] * (n[1] + n[2] + n[3] + n[1] / d[1][-1] * d[3][-1]) END
            WHEN 'normalisation' THEN CASE WHEN is_backward THEN b[1] * (3 * n[1] + 4 * greatest(n[3], n[6]))
                ELSE b[1] * (2 * n[1] + 6 * greatest(n[2], CASE WHEN contains(name, 'layer') THEN n[3] ELSE 0 END)) END
            WHEN 'reduction' THEN b[1] * (n[1] + CASE WHEN name = 'aten::cumsum' THEN n[1]
                WHEN n_reduced IS NOT NULL THEN n[1] / n_reduced ELSE 1 END)
            WHEN 'elementwise' THEN CASE
                WHEN name = 'aten::copy_' THEN n[1] * b[1] + n[2] * b[2]
                WHEN len(d) > 1 AND (types[2] <> 'Scalar' OR name IN ('aten::add', 'aten::mul', 'aten::div', 'aten::sub'))
                    AND NOT name IN ('aten::clamp_min', 'aten::clamp_min_')
                    THEN n[1] * b[1] + n[2] * coalesce(b[2], 4) + n_out * coalesce(b_out, b[1])
                ELSE 2 * n[1] * b[1] END
            END::BIGINT AS moved_bytes
    FROM shaped)
SELECT run_id, file_id, line, rank, train_step, name, family, args->>'Input Dims' AS shapes,
    types[CASE WHEN name IN ('aten::addmm', 'aten::baddbmm') THEN 2 ELSE 1 END] AS dtype, flops, moved_bytes, kernels,
    kernel_ns
FROM counted
ORDER BY run_id, file_id, line
