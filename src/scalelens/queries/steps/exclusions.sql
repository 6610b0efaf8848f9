-- Records that the statistics leave out, with the rule for each.
--
-- Answers: What is not in the numbers, and why?
--   One row per record and rule; `selected_steps` defines the rules.  Nothing is left out for being slow.
--
-- Glance: run_id rule step~ step_s~ epoch~ attempt
--
-- Partition: run_id
--
-- When empty: no record is left out
--
-- Sources: selected_steps
--
-- Parameters: runs, epochs, warmup, exclude
--
-- Columns:
--   run_id            VARCHAR     run
--   file_id           VARCHAR     file of the record
--   line              BIGINT      line of the record
--   attempt           INTEGER     restart
--   epoch             DOUBLE      epoch
--   step              BIGINT      step, the last of an interval
--   step_s            DOUBLE s    time of a step
--   averaged_steps    BIGINT      steps that the time is a mean of
--   rule              VARCHAR     a rule of selected_steps: logged_warmup, warmup, first_of_epoch, ambiguous, ...
SELECT run_id, file_id, line, attempt, epoch, step, step_s, averaged_steps, unnest(excluded_by) AS rule
FROM selected_steps(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude)
ORDER BY run_id, position_in_run, rule
