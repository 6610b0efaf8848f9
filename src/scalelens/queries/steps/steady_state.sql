-- Whether a run has a steady state, and from which step on.
--
-- Answers: Does the run warm up, slow down or keep its pace?  Which steps show its pace?
--   One row per run and attempt, over all of its records, whatever the statistics leave out: stalls and first batches
--   do not change the pace.  Change points are found in the ranks of the times, with a penalty that allows for
--   correlated neighbors (statistics/level_shifts.py).  Levels within 1 % are one level; a level of less than 5 % of
--   the records is an episode, unless it is the first.  `exclude := 'steady'` leaves out what comes before
--   `steady_from_step`.  Ten records or more of which each is longer than the one before are `slowing`, and `warming`
--   where each is shorter.
--
-- Formula:
--   Change points by circular binary segmentation of the ranks, with a penalty that grows with the long-run variance.
--   The last level, with those before it that are alike, is the steady state.
--   warming: all levels before it are slower; slowing: all are faster; unsteady: both.
--
-- Reference: Olshen et al., Biostatistics 5, 2004 (segmentation); Barrett et al., OOPSLA'17 (the verdicts).
--   statistics/steady.py.
--
-- Limits: The last level must contain a fifth of the records, or the run is not steady from any step on.  A series that
--   is worth fewer than 8 independent records is too_short.  A slow drift may look like steps, and the verdict is about
--   this run only.  Modes that last for tens of steps are levels like any other: a process that changes between two of
--   them has a verdict other than `steady` in most runs.  The note says where levels may be modes or those of a run that
--   wanders, and where a change is weak (docs/statistics.md).
--
-- Glance: run_id verdict n_steps steady_from_step steady_s before_s n_before attempt change_steps note
--
-- When empty: not_timed
--
-- Partition: run_id
--
-- Sources: logged_steps
--
-- Parameters: runs
--
-- Columns:
--   run_id              VARCHAR     run
--   attempt             INTEGER     restart
--   n_steps             BIGINT      records
--   verdict             VARCHAR     steady; warming: slower before; slowing: faster before; unsteady; too_short
--   steady_from_step    BIGINT      first step of the steady state; NULL where there is none
--   steady_s            DOUBLE s    median of the steady state
--   before_s            DOUBLE s    median of the records before it; NULL where there is none
--   n_before            BIGINT      records before it
--   change_steps        VARCHAR     steps at which another level begins
--   note                VARCHAR     why there is no steady state, or what else the levels may be
WITH
series AS (
    SELECT run_id, coalesce(attempt, 0) AS attempt, count(*) AS n_steps,
        -- One list, not ordered by file and line: DuckDB sorts each list, and a file name for each step fills gigabytes.
        list({step: step, step_s: step_s} ORDER BY epoch, step, attempt) AS records,
        steadiness([record.step_s FOR record IN records]) AS state
    FROM logged_steps(runs := runs)
    WHERE isfinite(step_s) AND step IS NOT NULL
        AND coalesce(value_kind, 'instant') IN ('instant', 'interval_mean')
    GROUP BY run_id, coalesce(attempt, 0))
SELECT run_id, attempt, n_steps, state.verdict AS verdict, records[state.first + 1].step AS steady_from_step,
    state.level AS steady_s, state.before AS before_s, state.first AS n_before,
    nullif(array_to_string([records[position + 1].step FOR position IN state.changes], ' '), '') AS change_steps,
    state.reason AS note
FROM series
ORDER BY run_id, attempt
