-- Rates of runs whose logs have no step times.
--
-- Answers: How fast was a run that only logs samples per second, or TFLOP/s?
--   The rate of a record without a time is that of one step, or of as many steps as it is a mean of; all steps have the
--   same number of samples.  Over the run, rates are combined by their harmonic mean, which is total samples over total
--   time.  Rates of a single rank are not included: what the others did is not known.
--
-- Helper: used by scaling_points
--
-- Sources: steps, members, selected_runs
--
-- Parameters: runs, epochs, warmup, exclude
--
-- Columns:
--   run_id               VARCHAR             run
--   n_steps              BIGINT              records that the rates rest on
--   samples_per_s        DOUBLE samples/s    total samples over total time, of the whole job
--   tflops_per_device    DOUBLE TFLOP/s      median as printed
WITH
wanted_epochs AS (
    SELECT string_split(span, '-')[1]::INTEGER AS first_epoch, string_split(span, '-')[-1]::INTEGER AS last_epoch
    FROM (SELECT unnest(string_split(epochs::VARCHAR, ',')) AS span) WHERE trim(span) <> ''),
-- Several ranks may print the rate of the whole job: each step counts once.
records AS (
    SELECT run_id, attempt, step, min(epoch) AS epoch, any_value(coalesce(averaged_steps, 1)) AS weight, min(line) AS line,
        median(samples_per_s) FILTER (WHERE samples_per_s > 0 AND coalesce(rate_scope, '') <> 'rank') AS samples_per_s,
        median(tflops_per_device) FILTER (WHERE tflops_per_device > 0) AS tflops_per_device,
        row_number() OVER (PARTITION BY run_id, attempt ORDER BY min(epoch), step, min(line)) AS position
    FROM main.steps
    WHERE phase = 'train' AND run_id IN (FROM selected_runs(runs := runs))
        AND (file_id, part) NOT IN (SELECT (file_id, part) FROM main.members WHERE why = 'twin')
    GROUP BY run_id, attempt, step, CASE WHEN step IS NULL THEN concat(file_id, line) END
    HAVING count(step_s) = 0 AND count(coalesce(samples_per_s, tflops_per_device)) > 0),
chosen AS (
    FROM records
    WHERE (exclude = 'none' OR position > warmup)
        AND (trim(epochs::VARCHAR) = '' OR EXISTS (FROM wanted_epochs WHERE floor(epoch) BETWEEN first_epoch AND last_epoch)))
SELECT run_id, count(*) AS n_steps,
    sum(weight) FILTER (WHERE samples_per_s IS NOT NULL) / sum(weight / samples_per_s ORDER BY attempt, position) AS samples_per_s,
    median(tflops_per_device) AS tflops_per_device
FROM chosen GROUP BY run_id
ORDER BY run_id
