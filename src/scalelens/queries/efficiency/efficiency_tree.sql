-- Efficiency of the devices as a product of factors, in the terms of POP and of TALP for accelerators.
--
-- Answers: What ate the efficiency of the devices?
--   Was it unequal work, communication, or devices that waited for their hosts?
--   For each device, K is the time in which kernels compute, C the time of communication and copies that no kernel
--   hides, and T the elapsed time of the slowest device.  They are those of temporal_breakdown: K is its compute_ns, C
--   its exposed communication and memory.
--   The elapsed time of a step ends with the first work of the next step on the device, where the trace contains it.
--   Computation scalability is K per sample and device at the base over the same here.  The base is the smallest traced
--   size of the series (scaling_series), if its steps are annotated in the trace.  Global = parallel * computation
--   scalability.  Where the power files of both give clocks it splits into two factors: the clock of the working
--   devices here over that at the base, and the cycles per sample and device at the base over those here.
--   The host has a tree of its own, which is never multiplied with that of the devices.  Its offload efficiency is the
--   share of its annotated steps in which none of its threads is inside a call of the device's runtime, launches and
--   waits alike; it is the mean over ranks.
--
-- Formula:
--   load balance = mean K / max K; communication = max K / max(K + C); orchestration = max(K + C) / T; parallel = their
--   product = mean K / T; global = parallel * computation scalability; computation scalability = frequency scalability
--   * cycle scalability.
--
-- Reference: TALP for accelerators, arXiv 2603.26576; POP, https://pop-coe.eu/node/69.
--
-- Assumptions: A device that waits in a collective is communicating.
--
-- Limits: If only one of several ranks was traced, load balance and parallel efficiency are NULL.  A host that is late
--   on one rank appears as communication on the others.  The MPI factor needs a trace of MPI.  Cycles are the number of
--   instructions and their rate together: traces do not separate the two.
--
-- Glance: run_id train_step parallel_efficiency% load_balance% communication_efficiency% orchestration_efficiency%
--   computation_scalability% global_efficiency% frequency_scalability% offload_efficiency% ranks devices elapsed_ns
--   note
--
-- Partition: run_id
--
-- Needs: events
--
-- When empty: no trace records the work of a device
--
-- Sources: temporal_breakdown, gpu_classes, events, runs, selected_runs, scaling_series, clock_scores
--
-- Parameters: runs, steps
--   by_step := false    one row per run and step instead of per run; work outside of steps is then left out
--
-- Columns:
--   run_id                      VARCHAR       run
--   train_step                  BIGINT        step; NULL per run
--   ranks                       BIGINT        ranks that were traced
--   devices                     INTEGER       devices of the run; NULL where not known
--   elapsed_ns                  BIGINT ns     T
--   mean_compute_ns             DOUBLE ns     mean K
--   max_compute_ns              BIGINT ns     largest K
--   mean_exposed_ns             DOUBLE ns     mean C
--   max_busy_ns                 BIGINT ns     largest K + C
--   load_balance                DOUBLE        factor, 0 to 1
--   communication_efficiency    DOUBLE        factor, 0 to 1
--   orchestration_efficiency    DOUBLE        factor, 0 to 1
--   parallel_efficiency         DOUBLE        product of these three factors
--   computation_scalability     DOUBLE        against the base, 1 is ideal; NULL where not known
--   global_efficiency           DOUBLE        parallel efficiency times computation scalability
--   base_run_id                 VARCHAR       run that is the base
--   clock_mhz                   DOUBLE MHz    median clock of a working device, mean over the devices of the power
--                                             files
--   frequency_scalability       DOUBLE        clock_mhz over that of the base; NULL where the power files of either
--                                             give no clock
--   cycle_scalability           DOUBLE        computation scalability over frequency scalability
--   host_steps_ns               DOUBLE ns     annotated steps of the host, mean over ranks
--   host_runtime_ns             DOUBLE ns     time of these steps inside calls of the device's runtime
--   offload_efficiency          DOUBLE        factor of the host's tree
--   note                        VARCHAR       what to know or doubt
WITH
works AS MATERIALIZED (
    SELECT run_id, file_id, rank, train_step, span_ns, compute_ns, exposed_comm_ns + exposed_memory_ns AS exposed_ns
    FROM temporal_breakdown(runs := runs, steps := steps, per := CASE WHEN by_step THEN 'step' ELSE 'rank' END)),
starts AS (
    SELECT file_id, train_step, min(start_ns) AS start_ns,
        lead(min(start_ns)) OVER (PARTITION BY file_id ORDER BY train_step) AS next_ns,
        lead(train_step) OVER (PARTITION BY file_id ORDER BY train_step) AS next_step
    FROM gpu_classes(runs := runs, per := 'step', steps := 'all') WHERE by_step GROUP BY file_id, train_step),
of_ranks AS (
    SELECT run_id, train_step, coalesce(w.rank::VARCHAR, w.file_id) AS device,
        sum(greatest(span_ns, CASE WHEN next_step = train_step + 1 THEN next_ns - start_ns ELSE 0 END))::BIGINT AS elapsed_ns,
        sum(compute_ns)::BIGINT AS compute_ns, sum(exposed_ns)::BIGINT AS exposed_ns
    FROM works AS w LEFT JOIN starts USING (file_id, train_step) GROUP BY ALL),
of_runs AS (
    SELECT run_id, train_step, count(*) AS ranks, max(elapsed_ns) AS elapsed_ns, avg(compute_ns) AS mean_compute_ns,
        max(compute_ns) AS max_compute_ns, avg(exposed_ns) AS mean_exposed_ns,
        max(compute_ns + exposed_ns) AS max_busy_ns
    FROM of_ranks GROUP BY run_id, train_step),
-- Steps of the host, and the calls that start in them.
host_steps AS (
    SELECT run_id, file_id, train_step, min(start_ns) AS start_ns, max(start_ns + duration_ns) AS end_ns
    FROM events
    WHERE starts_with(name, 'ProfilerStep#') AND category IN ('user_annotation', 'cpu_op') AND duration_ns IS NOT NULL
        AND run_id IN (FROM selected_runs(runs := runs)) GROUP BY ALL),
calls AS (
    SELECT e.file_id, e.train_step, class_spans(list(e.start_ns), list(least(e.start_ns + e.duration_ns, h.end_ns)),
        list(1::BIGINT)) AS lasted_ns
    FROM events AS e JOIN host_steps AS h USING (file_id, train_step)
    WHERE regexp_matches(e.category, '_(runtime|driver)$') AND e.duration_ns IS NOT NULL AND e.start_ns >= h.start_ns
    GROUP BY e.file_id, e.train_step),
hosts AS (
    SELECT run_id, CASE WHEN by_step THEN train_step END AS train_step, file_id, sum(end_ns - start_ns) AS steps_ns,
        sum(coalesce(lasted_ns[2], 0)) FILTER (WHERE file_id IN (SELECT file_id FROM calls)) AS runtime_ns
    FROM host_steps LEFT JOIN calls USING (file_id, train_step) GROUP BY ALL),
of_hosts AS (
    SELECT run_id, train_step, avg(steps_ns) AS host_steps_ns, avg(runtime_ns) AS host_runtime_ns,
        1 - avg(runtime_ns / nullif(steps_ns, 0)) AS offload_efficiency
    FROM hosts GROUP BY run_id, train_step),
-- Kernel time per step and device, and the samples that it stands for.
step_counts AS (SELECT run_id, max(n) AS n FROM (
    SELECT run_id, file_id, count(*) AS n FROM host_steps GROUP BY ALL) GROUP BY run_id),
members AS (
    SELECT DISTINCT ON (run_id) series, unnest(run_ids) AS run_id FROM scaling_series(runs := runs) ORDER BY run_id, series),
clocks AS (SELECT run_id, avg(clock_mhz) AS clock_mhz FROM clock_scores(runs := runs) GROUP BY run_id),
costs AS (
    SELECT run_id, series, r.devices, clock_mhz, mean_compute_ns / n * r.devices / r.global_batch_size AS per_sample_ns
    FROM of_runs JOIN members USING (run_id) JOIN step_counts USING (run_id) JOIN runs AS r USING (run_id)
    LEFT JOIN clocks USING (run_id) WHERE NOT by_step),
bases AS (
    SELECT run_id, first_value(run_id) OVER size AS base_run_id,
        first_value(per_sample_ns) OVER size / nullif(per_sample_ns, 0) AS computation_scalability,
        clock_mhz / nullif(first_value(clock_mhz) OVER size, 0) AS frequency_scalability
    FROM costs WHERE per_sample_ns IS NOT NULL WINDOW size AS (PARTITION BY series ORDER BY devices, run_id))
SELECT o.run_id, o.train_step, ranks, r.devices, elapsed_ns, mean_compute_ns, max_compute_ns, mean_exposed_ns, max_busy_ns,
    CASE WHEN ranks > 1 OR coalesce(r.devices, 1) = 1 THEN mean_compute_ns / nullif(max_compute_ns, 0) END AS load_balance,
    max_compute_ns / nullif(max_busy_ns, 0) AS communication_efficiency,
    max_busy_ns / nullif(elapsed_ns, 0) AS orchestration_efficiency,
    load_balance * communication_efficiency * orchestration_efficiency AS parallel_efficiency,
    computation_scalability, parallel_efficiency * computation_scalability AS global_efficiency, base_run_id,
    clock_mhz, frequency_scalability, computation_scalability / frequency_scalability AS cycle_scalability,
    host_steps_ns, host_runtime_ns, offload_efficiency,
    notes([
        CASE WHEN ranks = 1 AND r.devices > 1
                THEN format('one rank of {} devices was traced: the load balance is not known', r.devices)
            WHEN ranks < r.devices THEN format('the load balance is that of {} traced ranks of {} devices', ranks, r.devices)
            WHEN ranks = 1 AND r.devices IS NULL THEN 'the number of devices is not known: one is assumed' END,
        CASE WHEN max_compute_ns = 0 THEN 'no kernel computes' END,
        CASE WHEN computation_scalability IS NOT NULL THEN NULL
            WHEN by_step THEN 'computation scalability exists for whole runs only'
            ELSE 'no computation scalability: the run is in no series of traced runs with annotated steps and a known '
                || 'batch' END]) AS note
FROM of_runs AS o JOIN runs AS r USING (run_id) LEFT JOIN bases USING (run_id)
LEFT JOIN clocks USING (run_id)
LEFT JOIN of_hosts AS h ON h.run_id = o.run_id AND h.train_step IS NOT DISTINCT FROM o.train_step
ORDER BY o.run_id, o.train_step
