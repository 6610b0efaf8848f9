-- Jobs by how much slower they were than usual, with the suspects of `blame` that they had.
--
-- Answers: Were the jobs with the accused node slow each time, and since when?
--   A row for each job that `blame` compares: its time of a step, the usual one of its configuration, and which accused
--   suspects it had.  A slow node makes all its jobs slower by about the same; a congested night makes jobs with and
--   without it slower.
--
-- Formula: slower = step_s / usual_step_s - 1
--   usual_step_s: median of the jobs of the same configuration without an accused suspect; of all its jobs where each
--   had one.
--
-- Assumptions: A configuration has one usual time.  `blame` also takes off what jobs lasted at about the same time, so a
--   job of a congested night is slower here, and says little there.
--
-- Limits: A job whose usual time would be its own is not compared: `slower` is NULL.  `slower` of one job is not
--   evidence; whether a suspect is to blame is what `blame` tests.
--
-- Glance: name started_at slower% suspect step_s usual_step_s n_usual configuration note
--
-- When empty: no run states both the time of a step and its nodes
--
-- Sources: blame, blamed_jobs, runs
--
-- Parameters: runs, epochs, warmup, exclude
--   suspects := 'node'    what is tested: 'node', 'setting' or 'hour'
--   effect := 0.05        share by which a suspect would have to slow jobs to matter; for ordinary and more_jobs
--
-- Columns:
--   run_id           VARCHAR      run
--   name             VARCHAR      name of the run
--   started_at       TIMESTAMP    first time stamp of the run
--   configuration    VARCHAR      its configuration in short; numbered where several read the same
--   step_s           DOUBLE s     median time of a step
--   usual_step_s     DOUBLE s     usual time of a step in its configuration
--   n_usual          BIGINT       jobs that the usual time is the median of
--   slower           DOUBLE       share by which the job is slower than usual; below 0 it is faster
--   suspect          VARCHAR      accused suspects (slow or confounded) that it had, the most conspicuous first; else NULL
--   first_suspect    VARCHAR      the first of them
--   verdict          VARCHAR      verdict on the first of them: slow or confounded
--   note             VARCHAR      what cannot be told apart, or compared
WITH
jobs_with_times AS (
    FROM blamed_jobs(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude, suspects := suspects)),
accused AS (
    SELECT b.suspect, b.verdict, b.note, run_ids, row_number() OVER (ORDER BY b.verdict <> 'slow', p_value, slowdown DESC, b.suspect) AS place
    FROM blame(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude, suspects := suspects, effect := effect) AS b
    WHERE b.verdict IN ('slow', 'confounded')),
had AS (
    SELECT run_id, string_agg(a.suspect, ', ' ORDER BY place) AS suspect, min_by(a.suspect, place) AS first_suspect,
        min_by(a.verdict, place) AS verdict,
        string_agg(format('{}: {}', a.suspect, a.note), '; ' ORDER BY place) FILTER (a.verdict = 'confounded') AS note
    FROM (SELECT * EXCLUDE (run_ids), unnest(run_ids) AS run_id FROM accused) AS a GROUP BY run_id),
described AS (
    SELECT j.run_id, name, started_at, step_s, j.configuration AS settings, h.suspect, first_suspect, h.verdict, h.note,
        concat_ws(' · ', system, model, r.precision, device_model,
            devices || ' ' || coalesce(upper(device_unit), 'device') || if(devices = 1, '', 's'),
            'batch ' || global_batch_size, 'seq ' || seq_length) AS text
    FROM jobs_with_times AS j JOIN runs AS r USING (run_id) LEFT JOIN had AS h USING (run_id)),
usual AS (
    SELECT settings, coalesce(nullif(min(text), ''), 'nothing stated') AS text, count(*) FILTER (d.suspect IS NULL) AS n_free,
        coalesce(nullif(n_free, 0), count(*)) AS n_usual,
        coalesce(median(step_s) FILTER (d.suspect IS NULL), median(step_s)) AS usual_step_s
    FROM described AS d GROUP BY settings),
numbered AS (
    SELECT * EXCLUDE (text), if(count(*) OVER (PARTITION BY text) > 1,
        format('{} ({})', text, row_number() OVER (PARTITION BY text ORDER BY settings)), text) AS configuration
    FROM usual)
SELECT run_id, name, started_at, configuration, step_s, usual_step_s, n_usual,
    CASE WHEN n_usual > 1 OR d.suspect IS NOT NULL AND n_free > 0 THEN step_s / usual_step_s - 1 END AS slower,
    d.suspect, first_suspect, d.verdict,
    nullif(concat_ws('; ', d.note, CASE WHEN n_usual = 1 AND (d.suspect IS NULL OR n_free = 0)
        THEN 'no other job of its configuration to compare it with'
        WHEN n_free = 0 THEN 'all jobs of its configuration had an accused suspect: usual is their median' END), '') AS note
FROM described AS d JOIN numbered USING (settings)
ORDER BY started_at, run_id
