-- Power of each sensor over time, thinned for plotting, and what the run did meanwhile.
--
-- Answers: What did each device draw, and what did the run do meanwhile?
--   Start, steps, evaluation and saving.
--   A sensor with more samples than `points` is cut into slots of time, each of which keeps the first, the last, the
--   lowest and the highest sample, so that no peak and no dip is lost.  Steps that follow each other are one phase;
--   pauses shorter than two records, or than a 500th of the run, are closed.  Where the clocks of readings and log
--   cannot be joined (power_clock) there are no phases.
--
-- Glance: run_id phase node device power_w~ begins_s~ scope
--
-- Partition: run_id
--
-- Needs: power
--
-- Sources: power_intervals, power_clock, selected_steps, phases
--
-- Parameters: runs
--   points := 1000       samples of a sensor that are kept, at most
--   margin_s := 600.0    seconds before the first and after the last time of the log within which samples count; all
--                        count where the clocks cannot be joined
--
-- Columns:
--   run_id       VARCHAR     run
--   phase        VARCHAR     steps, startup, compile, evaluation, validation, checkpoint, or else epoch or train where
--                            steps have no times; NULL for a sample
--   node         VARCHAR     host name; like the columns below, except the times, NULL for a phase
--   device       VARCHAR     device as the tool numbers it
--   scope        VARCHAR     what the sensor covers: gpu module gcd oam grace cpu memory ...
--   segment      BIGINT      part of the series, from 0; a gap lies between two parts (power_intervals)
--   begins_s     DOUBLE s    start of the phase, or time of the sample, since the first time of the log
--   ends_s       DOUBLE s    end of the phase; NULL for a sample
--   power_w      DOUBLE W    power
--   readings     BIGINT      all samples of the sensor
--   has_clock    BOOLEAN     whether the times are those of the log; else they count from the first sample of the run
WITH
intervals AS (
    SELECT i.*, first_ns, last_ns
    FROM power_intervals(runs := runs) AS i
    LEFT JOIN (
        SELECT run_id, epoch_ns(any_value(begins)) AS first_ns, epoch_ns(any_value(ends)) AS last_ns
        FROM power_clock(runs := runs) GROUP BY run_id) USING (run_id)),
samples AS (
    SELECT run_id, node, device, scope, sensor, has_clock, first_ns, last_ns, ends_ns AS t, ends_w AS power_w,
        kind <> 'sampled' AS after_gap
    FROM intervals
    UNION ALL
    SELECT run_id, node, device, scope, sensor, has_clock, first_ns, last_ns, begins_ns, begins_w, false
    FROM intervals QUALIFY row_number() OVER (PARTITION BY sensor ORDER BY begins_ns) = 1),
cut AS (
    FROM samples WHERE NOT has_clock OR t BETWEEN first_ns - margin_s * 1e9 AND last_ns + margin_s * 1e9),
with_segments AS (
    SELECT *, sum(after_gap::BIGINT) OVER (PARTITION BY sensor ORDER BY t)::BIGINT AS segment,
        count(*) OVER (PARTITION BY sensor) AS readings, min(t) OVER of_run AS since, max(t) OVER of_run AS until,
        CASE WHEN has_clock THEN first_ns ELSE since END AS zero_ns
    FROM cut WINDOW of_run AS (PARTITION BY run_id, has_clock)),
slotted AS (
    SELECT *, {'t': t, 'power_w': power_w, 'segment': segment} AS s,
        CASE WHEN readings <= points THEN t - since
            ELSE floor((t - since)::DOUBLE / (until - since + 1) * greatest(points // 4, 1))::BIGINT END AS slot
    FROM with_segments),
kept AS (
    SELECT run_id, node, device, scope, sensor, readings, has_clock, zero_ns, unnest(list_distinct([
        arg_min(s, t), arg_max(s, t), arg_min(s, {'w': power_w, 't': t}), arg_max(s, {'w': power_w, 't': t})])) AS s
    FROM slotted GROUP BY run_id, node, device, scope, sensor, readings, has_clock, zero_ns, slot),
clocks AS (SELECT DISTINCT run_id, first_ns, last_ns FROM intervals WHERE has_clock),
-- A record stands for the steps since the previous one, as in a log that prints every tenth.
records AS (
    SELECT run_id, epoch_ns(ts) AS ends, position_in_run, first_ns, last_ns,
        (step_s * 1e9)::BIGINT AS step_ns, step - lag(step) OVER attempts AS since,
        greatest(ends - step_ns * CASE WHEN since > 0 THEN greatest(since, averaged_steps) ELSE averaged_steps END,
            coalesce(lag(ends) OVER attempts, 0)) AS begins
    FROM selected_steps(runs := runs) JOIN clocks USING (run_id)
    WHERE ts IS NOT NULL AND step_s > 0 AND NOT list_has_any(coalesce(excluded_by, []), ['summary', 'logged_warmup'])
    WINDOW attempts AS (PARTITION BY run_id, attempt ORDER BY position_in_run)),
pauses AS (
    SELECT *, begins - lag(ends) OVER in_time AS pause, ends - lag(ends) OVER in_time AS distance
    FROM records WINDOW in_time AS (PARTITION BY run_id ORDER BY ends, position_in_run)),
islands AS (
    SELECT *, sum(CASE WHEN pause > limit_ns THEN 1 ELSE 0 END) OVER (PARTITION BY run_id ORDER BY ends, position_in_run) AS island
    FROM pauses JOIN (
        SELECT run_id, greatest(2 * median(distance), any_value(last_ns - first_ns) / 500) AS limit_ns
        FROM pauses GROUP BY run_id) USING (run_id)),
spans AS (
    SELECT run_id, 'steps' AS phase, first_ns, min(begins) AS begins, max(ends) AS ends
    FROM islands GROUP BY run_id, first_ns, island
    UNION ALL
    SELECT DISTINCT run_id, phase, first_ns, epoch_ns(ts) - (span_s * 1e9)::BIGINT, epoch_ns(ts)
    FROM phases JOIN clocks USING (run_id)
    WHERE ts IS NOT NULL AND span_s > 0 AND coalesce(rank, 0) = 0 AND phase <> 'run'
        AND (phase NOT IN ('epoch', 'train') OR run_id NOT IN (SELECT run_id FROM records)))
SELECT run_id, NULL AS phase, node, device, scope, s.segment AS segment, (s.t - zero_ns) / 1e9 AS begins_s,
    NULL::DOUBLE AS ends_s, s.power_w AS power_w, readings, has_clock
FROM kept
UNION ALL
SELECT run_id, phase, NULL, NULL, NULL, NULL, (begins - first_ns) / 1e9, (ends - first_ns) / 1e9, NULL, NULL, true
FROM spans
ORDER BY run_id, phase NULLS FIRST, node, device, scope, begins_s
