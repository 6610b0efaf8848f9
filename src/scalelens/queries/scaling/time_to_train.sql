-- Time to train of each run, from its start to its end, as the log has them.
--
-- Answers: How long did each run train, and did it reach its target?
--   One row per run, however few there are: MLPerf's score, a mean over several results, is mlperf_scores.
--
-- Formula: minutes = span_s of the phase `run` / 60.  For MLPerf that is from run_start to run_stop; for trackers and
--   trainers the run time that they state.
--
-- Reference: Mattson et al., MLPerf training benchmark, arXiv 1910.01500.
--
-- Assumptions: Of a run that was started several times, the last start that came to an end counts.
--
-- Limits: No interval: each row is one run, and the time to a target varies with the seed.  Whether MLPerf's rules were
--   kept is not checked.
--
-- Glance: run_id devices nodes minutes is_converged seed last_score~ n_evaluations~ global_batch_size model system
--   device_model submitter note
--
-- When empty: no log has the time of a whole training
--
-- Sources: phases, params, metrics, files, members, runs, selected_runs
--
-- Parameters: runs
--
-- Columns:
--   run_id               VARCHAR            run
--   model                VARCHAR            benchmark or model
--   submitter            VARCHAR            organization, where the log names one
--   system               VARCHAR            machine
--   device_model         VARCHAR            model of the device
--   nodes                INTEGER            nodes
--   devices              INTEGER            devices that took part
--   global_batch_size    BIGINT samples     per step over all devices
--   seed                 VARCHAR            seed of the random numbers, as logged
--   minutes              DOUBLE             time to train in minutes; NULL where the log does not say when the run ended
--   is_converged         BOOLEAN            whether the log says that the target was reached; NULL where it does not say
--   n_evaluations        BIGINT             evaluations with a score
--   last_score           DOUBLE             MLPerf's last eval_accuracy, as printed
--   file_id              VARCHAR            file that says when the run ended
--   line                 BIGINT             its line
--   note                 VARCHAR            why there is no time, or what to keep in mind
WITH
spans AS (
    SELECT run_id, arg_max({'span_s': span_s, 'file_id': file_id, 'line': line}, (coalesce(attempt, 0), line)) AS last_span,
        count(DISTINCT coalesce(attempt, 0)) AS n_ended
    FROM phases WHERE phase = 'run' AND span_s > 0 AND coalesce(rank, 0) = 0 GROUP BY run_id),
-- Logs of MLPerf without a run_stop are rows, too.
begun AS (
    SELECT DISTINCT run_id FROM members JOIN files USING (file_id)
    WHERE list_has_any(formats, ['mllog', 'mllog_old']) AND why <> 'twin'),
facts AS (
    SELECT run_id, arg_min(value, line) FILTER (WHERE key = 'seed') AS seed,
        arg_min(value, line) FILTER (WHERE key = 'submission_org' AND value NOT LIKE '%PLACEHOLDER%') AS submitter,
        arg_max(value, line) FILTER (WHERE key = 'run_status') AS status
    FROM params WHERE key IN ('seed', 'submission_org', 'run_status') GROUP BY run_id),
scores AS (
    SELECT run_id, count(*) AS n_evaluations, arg_max(value, (file_id, line)) AS last_score
    FROM metrics WHERE name = 'eval_accuracy' AND coalesce(rank, 0) = 0 GROUP BY run_id)
SELECT r.run_id, r.model, submitter, r.system, r.device_model, r.nodes, r.devices, r.global_batch_size, seed,
    last_span.span_s / 60 AS minutes, status IN ('success', '{"success": true}') AS is_converged,
    coalesce(n_evaluations, 0) AS n_evaluations, last_score, last_span.file_id AS file_id, last_span.line AS line,
    notes([
        CASE WHEN s.run_id IS NULL THEN 'the log has no run_stop after a run_start' END,
        CASE WHEN n_ended > 1 THEN concat('the last of ', n_ended, ' starts that came to an end') END]) AS note
FROM selected_runs(runs := runs) JOIN runs AS r USING (run_id)
LEFT JOIN spans AS s ON s.run_id = r.run_id LEFT JOIN facts AS f ON f.run_id = r.run_id
LEFT JOIN scores AS c ON c.run_id = r.run_id
WHERE s.run_id IS NOT NULL OR r.run_id IN (FROM begun)
ORDER BY r.model, submitter, r.system, r.devices, minutes, r.run_id
