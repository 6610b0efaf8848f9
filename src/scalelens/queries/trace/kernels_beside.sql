-- Each kernel and copy, how long communication overlapped it, and how long it takes without communication.
--
-- Answers: Would this kernel have been faster without communication?
--   The same kernel is the one with its name at its place among the calls of that name in a step, on any rank of the
--   pipeline stage that calls it as often.  It is free where communication of its rank runs during at most 5 % of it.
--   Its reference is the median of its free durations over ranks and steps, each divided by the pace of its rank, so
--   that neither a slow rank nor one that overlaps more moves it.  The pace of a rank is what its free kernels take
--   over the median of the ranks, summed over kernels that half of the ranks run free.
--
-- Helper: used by contention and rank_work
--
-- Needs: events
--
-- Sources: events, gpu_events, runs, selected_runs
--
-- Parameters: runs
--
-- Columns:
--   run_id          VARCHAR      run
--   file_id         VARCHAR      file of the trace
--   rank            INTEGER      global rank
--   train_step      BIGINT       step that launched it
--   class           VARCHAR      compute or memory
--   name            VARCHAR      name of the kernel or copy
--   duration_ns     BIGINT ns    its duration
--   beside_ns       BIGINT ns    during which communication of the rank ran
--   is_free         BOOLEAN      whether that is at most 5 % of it
--   pace            DOUBLE       duration of the free work of its class and rank over that of all ranks; NULL where not
--                                known
--   reference_ns    DOUBLE ns    what it takes without communication, on a rank of pace 1; NULL where not known
WITH
spans AS (
    SELECT run_id, file_id, line, rank, train_step, class, name, start_ns, end_ns FROM gpu_events()
    UNION ALL
    SELECT run_id, file_id, line, rank, train_step, category, name, start_ns, start_ns + duration_ns FROM events
    WHERE category IN ('compute', 'communication') AND duration_ns IS NOT NULL),
ranks AS (
    SELECT run_id, file_id, rank, list(line) AS lines, list(train_step) AS steps, list(class) AS classes, list(name) AS names,
        list(start_ns) AS starts, list(end_ns) AS ends,
        time_beside(list(start_ns), list(end_ns), list(class = 'communication')) AS besides
    FROM spans
    WHERE run_id IN (SELECT run_id FROM spans WHERE class = 'communication')
        AND run_id IN (FROM selected_runs(runs := runs))
    GROUP BY run_id, file_id, rank),
kernels AS (
    SELECT run_id, file_id, rank, unnest(lines) AS line, unnest(steps) AS train_step, unnest(classes) AS class,
        unnest(names) AS name, unnest(starts) AS start_ns, unnest(ends) - start_ns AS duration_ns,
        unnest(besides) AS beside_ns, beside_ns <= 0.05 * duration_ns AS is_free
    FROM ranks),
placed AS MATERIALIZED (
    SELECT *, CASE WHEN pp > 1 THEN rank // (devices // pp) END AS stage,
        count(*) OVER (PARTITION BY run_id, file_id, rank, train_step, name) AS calls,
        row_number() OVER (PARTITION BY run_id, file_id, rank, train_step, name ORDER BY start_ns, line) AS place
    FROM kernels LEFT JOIN (SELECT run_id, pp, devices FROM runs) USING (run_id)
    WHERE class <> 'communication'),
first_medians AS (
    SELECT run_id, stage, name, calls, place, median(duration_ns) FILTER (is_free) AS middle_ns
    FROM placed GROUP BY ALL
    HAVING count(DISTINCT (file_id, rank)) FILTER (is_free) >= count(DISTINCT (file_id, rank)) / 2),
paces AS (
    SELECT run_id, file_id, rank, class, sum(duration_ns) / nullif(sum(middle_ns), 0) AS pace
    FROM placed AS p JOIN first_medians AS m USING (run_id, name, calls, place)
    WHERE is_free AND m.stage IS NOT DISTINCT FROM p.stage GROUP BY ALL),
paced AS (
    SELECT p.*, pace FROM placed AS p LEFT JOIN paces AS r
        ON r.run_id = p.run_id AND r.file_id = p.file_id AND r.rank IS NOT DISTINCT FROM p.rank AND r.class = p.class),
medians AS (
    SELECT run_id, stage, name, calls, place, median(duration_ns / pace) AS reference_ns
    FROM paced WHERE is_free GROUP BY ALL)
SELECT p.run_id, file_id, rank, train_step, class, p.name, duration_ns, beside_ns, is_free, pace, reference_ns
FROM paced AS p LEFT JOIN medians AS m ON m.run_id = p.run_id AND m.stage IS NOT DISTINCT FROM p.stage
    AND m.name = p.name AND m.calls = p.calls AND m.place = p.place
