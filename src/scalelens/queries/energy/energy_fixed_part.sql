-- Energy of start-up and energy of work, separated by runs of several sizes.
--
-- Answers: How much energy would be used without any work?
--   And what do the devices draw while they work?
--   Energy of a device = fixed + power * time of the steps, over runs that are equal except for their batch or their
--   number of steps.  This takes at least four different times.  Time is that of all steps, as logged.  A first line,
--   through the median of the slopes between all pairs of runs (Theil and Sen), is not moved by odd runs and identifies
--   them.  Least squares through the other runs then gives the numbers, with Student's intervals.
--
-- Formula: E = F + P t for a device, with t the time of the steps.  P and F by least squares; with n runs, mean time m
--   and sum of squares X, their intervals are P +- T s / sqrt(X) and F +- T s sqrt(1/n + m^2 / X), with s the residual
--   standard deviation and T the 97.5 % quantile of Student's t for n - 2.
--
-- Reference: Theil 1950 and Sen 1968 for the robust line.  Least squares as in any textbook.
--
-- Assumptions: Power at work is the same for every batch of the set.  Errors of the runs are independent and equal in
--   size.
--
-- Limits: An odd run misses the robust line by more than five median misses; it is named, and left out of the fit.
--   Runs of similar length give a wide interval for the fixed part.
--
-- Glance: settings devices n_runs fixed_wh work_w odd_runs note
--
-- Needs: power, energy, steps.energy_j
--
-- Sources: runs, labels, selected_steps, energy_of_runs
--
-- Parameters: runs
--   extent := 'run'          'run' is from the first to the last time of the log, 'readings' from the first to the last
--                            sample; 'run' means 'readings' where the log has no times (flag no_run_times)
--   method := 'trapezoid'    'right' takes each sample for the time before it (as jpwr does), 'left' for the time after
--                            it
--
-- Columns:
--   settings         VARCHAR      what the runs share
--   devices          INTEGER      devices
--   n_runs           BIGINT       runs
--   fixed_wh         DOUBLE Wh    of a device, before and after the steps: the line at time 0
--   fixed_wh_low     DOUBLE Wh    lower end of its 95 % interval
--   fixed_wh_high    DOUBLE Wh    upper end
--   work_w           DOUBLE W     of a device during steps: slope of the line
--   work_w_low       DOUBLE W     lower end of its 95 % interval
--   work_w_high      DOUBLE W     upper end
--   odd_runs         VARCHAR[]    runs that were left out: more than five times as far from the line as the median run
--   note             VARCHAR      why there is no line
WITH
step_times_of_runs AS (
    SELECT run_id, sum(stands_for * step_s ORDER BY position_in_run) AS worked_s
    FROM (
        SELECT *, step - lag(step) OVER (PARTITION BY run_id, attempt ORDER BY position_in_run) AS since,
            steps_of_record(since, step, averaged_steps, value_kind) AS stands_for
        FROM selected_steps(runs := runs) WHERE NOT list_has_any(coalesce(excluded_by, []), ['summary', 'logged_warmup']))
    GROUP BY run_id HAVING bool_and(stands_for IS NOT NULL)),
points AS (
    SELECT run_id, devices, worked_s, e.energy_j / units AS device_j,
        concat_ws(' · ', model, r.precision, system, dataset, 'seq ' || seq_length, framework, labels) AS settings
    FROM step_times_of_runs JOIN energy_of_runs(runs := runs, extent := extent, method := method) AS e USING (run_id)
    JOIN runs AS r USING (run_id) LEFT JOIN labels() USING (run_id)
    WHERE worked_s > 0 AND units > 0),
sets AS (
    SELECT settings, devices, count(*) AS n_runs, count(DISTINCT worked_s) AS n_times FROM points GROUP BY settings, devices),
slopes AS (
    SELECT settings, devices, list_sort(list((b.device_j - a.device_j) / (b.worked_s - a.worked_s))) AS slopes
    FROM points AS a JOIN points AS b USING (settings, devices) WHERE b.worked_s > a.worked_s
    GROUP BY settings, devices),
robust AS (
    SELECT settings, devices, list_median(slopes) AS slope_w FROM sets JOIN slopes USING (settings, devices)
    WHERE n_times >= 4),
offsets AS (
    SELECT *, device_j - slope_w * worked_s AS offset_j,
        abs(offset_j - median(offset_j) OVER (PARTITION BY settings, devices)) AS miss_j
    FROM points JOIN robust USING (settings, devices)),
judged AS (
    SELECT *, miss_j > 5 * median(miss_j) OVER (PARTITION BY settings, devices) AS is_odd FROM offsets),
fits AS (
    SELECT settings, devices, count(*) FILTER (WHERE NOT is_odd) AS n,
        regr_slope(device_j, worked_s ORDER BY run_id) FILTER (WHERE NOT is_odd) AS work_w,
        regr_intercept(device_j, worked_s ORDER BY run_id) FILTER (WHERE NOT is_odd) AS fixed_j,
        regr_sxx(device_j, worked_s ORDER BY run_id) FILTER (WHERE NOT is_odd) AS sxx,
        regr_avgx(device_j, worked_s ORDER BY run_id) FILTER (WHERE NOT is_odd) AS mean_s,
        regr_syy(device_j, worked_s ORDER BY run_id) FILTER (WHERE NOT is_odd) AS syy,
        student_t(n - 2) * sqrt(greatest(syy - work_w * work_w * sxx, 0) / (n - 2)) AS width,
        width / sqrt(sxx) AS work_half, width * sqrt(1 / n + mean_s * mean_s / sxx) AS fixed_half,
        list(run_id ORDER BY run_id) FILTER (WHERE is_odd) AS odd_runs
    FROM judged GROUP BY settings, devices)
SELECT s.settings, s.devices, s.n_runs, fixed_j / 3600 AS fixed_wh, (fixed_j - fixed_half) / 3600 AS fixed_wh_low,
    (fixed_j + fixed_half) / 3600 AS fixed_wh_high, work_w, work_w - work_half AS work_w_low,
    work_w + work_half AS work_w_high, odd_runs,
    CASE WHEN n_times < 4 THEN format('{} different {} of work {} too few for a line: it takes 4', n_times,
        if(n_times = 1, 'time', 'times'), if(n_times = 1, 'is', 'are')) END AS note
FROM sets AS s LEFT JOIN fits AS f ON f.settings = s.settings AND f.devices IS NOT DISTINCT FROM s.devices
ORDER BY s.settings, s.devices
