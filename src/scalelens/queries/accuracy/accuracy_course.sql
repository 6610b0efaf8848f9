-- Accuracy or loss over the course of a training run, smoothed on demand and thinned for plotting.
--
-- Answers: How did accuracy or loss develop, thinned to what a plot can show?
--   The rows of accuracy_curve, with the epochs, tokens or energy up to each.  A long run is cut into pieces of equal
--   length: by epoch, by step and by time.  Each piece keeps its lowest and its highest score, for training and
--   validation separately.
--
-- Formula: epochs_done is the epoch as logged where the log gives fractions.  Where it only counts epochs, the k-th of
--   the n records of an epoch is at k / n within it, so that its last record, and its validation, are at its end.
--   tokens and energy_j are sums over the steps logged so far; steps before the first record count as tokens like it.
--
-- Assumptions: Where the first training record is of epoch 0, epochs are counted from 0; else from 1.  The records of an
--   epoch are equally far apart, and an epoch that a later one follows is complete.
--
-- Limits: The order within a piece is lost.  epochs_done is NULL in a run of one epoch that only counts it: nothing says
--   how much of the epoch was done.  energy_j is NULL after a step whose energy is not known, and is that of steps.
--   After a mean over an unknown number of steps, tokens and energy_j are NULL.
--
-- Glance: run_id elapsed_s epoch step score phase n_points clock
--
-- Partition: run_id
--
-- When empty: no run logs such a score, or nothing tells apart the launches or ranks that logged it
--
-- Sources: accuracy_curve, selected_steps, energy_of_steps
--
-- Parameters: runs, score_name
--   slots := 1000    pieces of a run, each of which keeps two records
--   smooth := 1      records of the training around each, whose mean is given instead of it
--   x := ''          axis of the chart: 'epochs', 'steps', 'tokens', 'hours' or 'energy'; empty takes epochs or steps,
--                    and the time
--
-- Columns:
--   run_id         VARCHAR     run
--   file_id        VARCHAR     file of the value; for a validation, that of its last batch
--   line           BIGINT      line of the value
--   attempt        INTEGER     restart
--   phase          VARCHAR     train or validation; NULL for a name in `metrics`
--   epoch          DOUBLE      epoch as logged
--   epochs_done    DOUBLE      epochs up to here, with their fractions
--   step           BIGINT      step
--   score          DOUBLE      accuracy from 0 to 1, or loss
--   n_records      BIGINT      records that the score is a mean of
--   elapsed_s      DOUBLE s    time elapsed, by `clock`
--   clock          VARCHAR     run start, first record, or sum of steps
--   tokens         DOUBLE tokens    tokens up to here; NULL unless x is 'tokens'
--   energy_j       DOUBLE J    energy of all devices up to here; NULL unless x is 'energy'
--   n_points       BIGINT      rows of the run before thinning
WITH
scored AS MATERIALIZED (
    SELECT *, coalesce(phase = 'train', false) AS is_training FROM accuracy_curve(runs := runs, score_name := score_name)
    WHERE CASE WHEN x IN ('', 'epochs', 'steps', 'tokens', 'hours', 'energy') THEN true
        ELSE error('x is ''epochs'', ''steps'', ''tokens'', ''hours'' or ''energy''') END),
counting AS (
    SELECT run_id, min(epoch) AS first_epoch FROM scored WHERE is_training
    GROUP BY run_id HAVING bool_and(epoch = floor(epoch))),
numbered AS (
    SELECT *, row_number() OVER (of_epoch ORDER BY step, file_id, line) AS position_in_epoch,
        count(*) OVER of_epoch AS in_epoch,
        epoch = max(epoch) OVER (PARTITION BY run_id, attempt, is_training) AND is_training AS may_be_cut
    FROM scored WINDOW of_epoch AS (PARTITION BY run_id, attempt, is_training, epoch)),
placed AS (
    SELECT n.* EXCLUDE (position_in_epoch, in_epoch, may_be_cut),
        max(in_epoch) FILTER (NOT may_be_cut AND is_training) OVER (PARTITION BY run_id) AS in_whole_epoch,
        CASE WHEN first_epoch IS NULL THEN epoch
            ELSE epoch - least(first_epoch, 1) + CASE WHEN NOT is_training THEN position_in_epoch / in_epoch
                WHEN may_be_cut THEN position_in_epoch / in_whole_epoch
                ELSE 1 - (in_epoch - position_in_epoch) / in_whole_epoch END
            END AS epochs_done
    FROM numbered AS n LEFT JOIN counting USING (run_id)),
records AS (
    SELECT s.run_id, s.attempt, s.epoch, s.step, s.position_in_run, s.tokens, e.energy_j,
        s.step - lag(s.step) OVER (PARTITION BY s.run_id, s.attempt ORDER BY s.position_in_run) AS since,
        steps_of_record(since, s.step, s.averaged_steps, s.value_kind) AS n_steps
    FROM selected_steps(runs := runs) AS s
    LEFT JOIN (FROM energy_of_steps(runs := runs) WHERE x = 'energy') AS e USING (run_id, position_in_run)
    WHERE x IN ('tokens', 'energy')
        AND NOT list_has_any(coalesce(s.excluded_by, []), ['summary', 'logged_warmup'])),
sums AS (
    SELECT run_id, attempt, epoch, step,
        CASE WHEN bool_and(n_steps IS NOT NULL) OVER of_attempt
            THEN sum(coalesce(if(since IS NULL, greatest(step, n_steps), n_steps), n_steps) * tokens) OVER of_attempt END
            AS tokens_sum,
        CASE WHEN bool_and(n_steps * energy_j IS NOT NULL) OVER so_far THEN sum(n_steps * energy_j) OVER so_far END AS energy_sum
    FROM records
    WINDOW of_attempt AS (PARTITION BY run_id, attempt ORDER BY position_in_run),
        so_far AS (PARTITION BY run_id ORDER BY position_in_run)),
ends AS (
    SELECT run_id, attempt, floor(epoch) AS epoch, max(tokens_sum) AS tokens_sum, max(energy_sum) AS energy_sum
    FROM sums GROUP BY ALL),
points AS (
    SELECT p.* EXCLUDE (score),
        CASE WHEN is_training AND smooth > 1 THEN avg(score) OVER (
                PARTITION BY p.run_id, p.attempt, is_training ORDER BY p.epoch, p.step, p.file_id, p.line
                ROWS BETWEEN smooth // 2 PRECEDING AND (smooth - 1) // 2 FOLLOWING) ELSE score END AS score,
        if(p.step IS NULL, e.tokens_sum, s.tokens_sum)::DOUBLE AS tokens,
        if(p.step IS NULL, e.energy_sum, s.energy_sum)::DOUBLE AS energy_j
    FROM placed AS p
    ASOF LEFT JOIN (FROM sums WHERE step IS NOT NULL) AS s
        ON s.run_id = p.run_id AND s.attempt = p.attempt AND s.step <= p.step
    LEFT JOIN ends AS e ON e.run_id = p.run_id AND e.attempt = p.attempt AND e.epoch = floor(p.epoch)),
counted AS (
    SELECT *, count(*) OVER of_run AS n_points,
        {'score': score, 'line': line} AS by_score,  -- one of several equal scores stays
        [epochs_done, step, elapsed_s] AS coordinates,
        [min(epochs_done) OVER of_run, min(step) OVER of_run, min(elapsed_s) OVER of_run] AS firsts,
        [max(epochs_done) OVER of_run, max(step) OVER of_run, max(elapsed_s) OVER of_run] AS lasts
    FROM points
    WINDOW of_run AS (PARTITION BY run_id)),
slotted AS (
    SELECT *, list_transform(range(1, 4),
        lambda n: floor(slots * (coordinates[n] - firsts[n]) / nullif(lasts[n] - firsts[n], 0))) AS slot
    FROM counted)
SELECT run_id, file_id, line, attempt, phase, epoch, epochs_done, step, score, n_records, elapsed_s, clock, tokens,
    energy_j, n_points
FROM slotted
WINDOW of_epoch AS (PARTITION BY run_id, attempt, phase, slot[1]),
    of_step AS (PARTITION BY run_id, attempt, phase, slot[2]),
    of_time AS (PARTITION BY run_id, attempt, phase, slot[3])
QUALIFY n_points <= slots OR by_score IN (
    min(by_score) OVER of_epoch, max(by_score) OVER of_epoch, min(by_score) OVER of_step, max(by_score) OVER of_step,
    min(by_score) OVER of_time, max(by_score) OVER of_time)
ORDER BY run_id, attempt, file_id, line, epoch, step, phase, score
