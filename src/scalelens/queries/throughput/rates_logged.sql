-- Rates as the logs print them: samples and tokens per second, TFLOP/s of a device.
--
-- Answers: How fast was a run by the rates in its log, also where no time of a step follows from them?
--   The records are chosen as those of selected_steps: by `epochs`, without warm-up, and without means of what is also
--   logged in parts.  An epoch that `epochs` chooses is not warm-up.
--   The rate of a record is that of one step, or of as many steps as it is a mean of; all steps have the same work.
--   Over the run, rates are combined by their harmonic mean, which is total work over total time.  Where a log prints
--   the rate of the whole job, that is taken; else that of a device, as a mean over the devices that print one.  Of some
--   rates nothing says which they are, unless the run has one device.
--
-- Helper: used by throughput, runs_overview and scaling_points
--
-- Sources: steps, metrics, members, runs, selected_runs, [steady_state]
--
-- Parameters: runs, epochs, warmup, exclude
--
-- Columns:
--   run_id               VARCHAR             run
--   n_steps              BIGINT              records that the rates rest on; 0 where the rules leave out all
--   samples_per_s        DOUBLE samples/s    total samples over total time
--   tokens_per_s         DOUBLE tokens/s     total tokens over total time
--   rate_scope           VARCHAR             what these two are of: global (the whole job) or rank (a device); NULL where nothing says
--                                            it
--   is_of_run            BOOLEAN             whether they are means over the run, as in a table of runs
--   tflops_per_device    DOUBLE TFLOP/s      median as printed
WITH
wanted_epochs AS (
    SELECT string_split(span, '-')[1]::INTEGER AS first_epoch, string_split(span, '-')[-1]::INTEGER AS last_epoch
    FROM (SELECT unnest(string_split(epochs::VARCHAR, ',')) AS span) WHERE trim(span) <> ''),
twins AS (SELECT file_id, part FROM main.members WHERE why = 'twin'),
-- Rates of tokens are metrics; where a record of a step is in their line, it says of which step they are.  A mean that
-- is of no step is that of the run, as in a table of one row for each run.
token_rates AS (
    SELECT m.run_id, m.file_id, m.part, m.line, m.rank, name, value AS tokens_per_s, unit <> 'tokens/s' AS is_of_device,
        coalesce(m.step, s.step) AS step, coalesce(s.attempt, m.attempt) AS attempt, epoch, averaged_steps,
        coalesce(value_kind, CASE WHEN m.step IS NULL AND stat = 'mean' THEN 'run_mean' END) AS value_kind,
        coalesce(phase, 'train') AS phase
    FROM main.metrics AS m LEFT JOIN main.steps AS s
        ON s.file_id = m.file_id AND s.part = m.part AND s.line = m.line AND s.rank IS NOT DISTINCT FROM m.rank
    WHERE unit IN ('tokens/s', 'tokens/s/device') AND value > 0 AND m.run_id IN (FROM selected_runs(runs := runs))
        AND NOT regexp_matches(name, '(?i)(^|[^a-z])(val|valid|validation|eval|evaluation|test)([^a-z]|$)')),
-- Of several rates under different names the one that most records have.
token_names AS (
    SELECT run_id, name FROM token_rates GROUP BY run_id, name, is_of_device
    QUALIFY row_number() OVER (PARTITION BY run_id ORDER BY is_of_device, count(*) DESC, name) = 1),
printed AS (
    SELECT run_id, file_id, part, line, rank, attempt, phase, epoch, step, averaged_steps, value_kind,
        rate_scope = 'rank' AS is_of_device, if(samples_per_s > 0, samples_per_s, NULL) AS samples_per_s,
        NULL::DOUBLE AS tokens_per_s, tflops_per_device
    FROM main.steps
    WHERE (samples_per_s > 0 OR tflops_per_device > 0) AND run_id IN (FROM selected_runs(runs := runs))
    UNION ALL BY NAME
    SELECT * EXCLUDE (name) FROM token_rates JOIN token_names USING (run_id, name)),
-- Several ranks may print the rate of the whole job, and each its own: a step counts once.
records AS (
    SELECT run_id, attempt, step, min(epoch) AS epoch, coalesce(any_value(averaged_steps), 1) AS weight, min(line) AS line,
        coalesce(any_value(value_kind), 'instant') AS kind, kind NOT IN ('instant', 'interval_mean') AS is_smoothed,
        bool_or(phase = 'warmup') AS is_logged_warmup, is_of_device,
        if(is_of_device, avg(samples_per_s), median(samples_per_s)) AS samples_per_s,
        if(is_of_device, avg(tokens_per_s), median(tokens_per_s)) AS tokens_per_s,
        count(samples_per_s) + count(tokens_per_s) > 0 AS is_a_rate,
        median(tflops_per_device) FILTER (WHERE tflops_per_device > 0) AS tflops_per_device
    FROM printed WHERE phase IN ('train', 'warmup') AND (file_id, part) NOT IN (FROM twins)
    GROUP BY run_id, attempt, step, is_of_device, samples_per_s IS NULL, tokens_per_s IS NULL,
        CASE WHEN step IS NULL THEN concat(file_id, line) END),
of_one_scope AS (
    FROM records
    QUALIFY NOT is_a_rate
        OR is_of_device IS NOT DISTINCT FROM bool_and(is_of_device) FILTER (WHERE is_a_rate) OVER (PARTITION BY run_id)),
placed AS (
    SELECT *, dense_rank() OVER (PARTITION BY run_id, attempt, is_smoothed ORDER BY is_logged_warmup DESC, epoch, step,
            if(step IS NULL, line, 0)) AS position,
        bool_or(NOT is_smoothed AND NOT is_logged_warmup) OVER (PARTITION BY run_id) AS run_has_steps,
        max(weight) FILTER (WHERE kind = 'run_mean') OVER (PARTITION BY run_id) AS longest_mean
    FROM of_one_scope),
chosen AS (
    SELECT p.*, (trim(epochs::VARCHAR) = ''
                OR EXISTS (FROM wanted_epochs WHERE floor(epoch) BETWEEN first_epoch AND last_epoch))
            AND (exclude = 'none' OR NOT is_logged_warmup AND NOT (run_has_steps AND is_smoothed)
                AND (position > warmup OR kind = 'run_mean' OR kind = 'epoch_mean' AND trim(epochs::VARCHAR) <> '')
                AND (kind <> 'run_mean' OR weight = longest_mean) AND coalesce(step >= steady_from_step, true))
        AS is_chosen
    FROM placed AS p LEFT JOIN query(CASE exclude
            WHEN 'steady' THEN 'SELECT run_id, attempt, steady_from_step FROM steady_state(runs := ' || quoted(runs) || ')'
            ELSE 'SELECT NULL::VARCHAR AS run_id, NULL::INTEGER AS attempt, NULL::BIGINT AS steady_from_step WHERE false' END)
        AS paces USING (run_id, attempt))
SELECT run_id, count(DISTINCT (attempt, step, if(step IS NULL, line, 0))) FILTER (WHERE is_chosen) AS n_steps,
    sum(weight) FILTER (WHERE is_chosen AND samples_per_s > 0)
        / sum(weight / samples_per_s ORDER BY attempt, position) FILTER (WHERE is_chosen) AS samples_per_s,
    sum(weight) FILTER (WHERE is_chosen AND tokens_per_s > 0)
        / sum(weight / tokens_per_s ORDER BY attempt, position) FILTER (WHERE is_chosen) AS tokens_per_s,
    coalesce(any_value(CASE is_of_device WHEN true THEN 'rank' WHEN false THEN 'global' END) FILTER (WHERE is_a_rate AND is_chosen),
        CASE WHEN bool_or(is_a_rate AND is_chosen) AND any_value(devices) = 1 THEN 'global' END) AS rate_scope,
    bool_and(kind = 'run_mean') FILTER (WHERE is_a_rate AND is_chosen) AS is_of_run,
    median(tflops_per_device) FILTER (WHERE is_chosen) AS tflops_per_device
FROM chosen JOIN runs USING (run_id)
GROUP BY run_id
ORDER BY run_id
