-- Nodes, settings or hours that make jobs slow, over all runs.
--
-- Answers: Which node is to blame for slow jobs?  Or which setting, or which hour?
--   The time of a step of each run is compared with that of runs of the same configuration at about the same time.  A
--   suspect is accused if the runs that had it are slower than the runs that had not, by more than the most conspicuous
--   of all suspects would be by chance.  Then the runs that had it are left out, and the others are tested again, as
--   the worst node of a run hides the rest.
--   `slow`: the suspect is accused.
--   `confounded`: it, or one of its rivals, is: no jobs tell which.  The rival `its time` stands for whatever else was
--   slow then, where all runs with the suspect came in one or two stretches of time.
--   `ordinary`: it does not make jobs slower by `effect`; the interval excludes it.
--   `unknown`: such an effect cannot be excluded; more_jobs says how many more jobs would show it.  Where its jobs
--   mostly ran one after the other, its rival is `its time`: jobs of others in between would tell.
--   Nodes that were in the same runs are one suspect: node-a+node-b.  Where ranks were measured one by one, what
--   outlier_gpus says of the node is further evidence; it does not change the verdict.
--   Suspects may be nodes (run_nodes), settings that count as neutral, among them versions of libraries, or hours: days
--   and hours of the day, in the time zone of the logs.  Settings that change speed separate configurations instead.
--
-- Formula: log step time = configuration + time + the worst of its nodes.
--   Residual: less the median of the configuration, less the median of the 12 runs next in time.
--   score = rank sum of the residuals of the runs with the suspect, standardized within blocks of 48 runs of one
--   configuration next to each other in time.  p_value: share of 999 exchanges of runs within blocks in which the
--   largest score of all suspects is as large.  Accused at 0.025.
--   slowdown: Hodges and Lehmann's median of the differences of all pairs of a run with it and one without it.
--
-- Reference: Westfall and Young, Resampling-Based Multiple Testing, 1993 (the largest statistic under permutation, one
--   after the other); van Elteren, Bulletin of the International Statistical Institute 37, 1960 (rank sums in blocks);
--   Hodges and Lehmann, Annals of Mathematical Statistics 34, 1963.  statistics/blame.py.
--
-- Assumptions: Within a configuration and at about the same time, it is chance which runs get which nodes.  A node is
--   slow in all its runs or in none: one that broke in between is found later, and with a smaller slowdown.
--
-- Limits: A warehouse without a slow node has one accused in 2.5 % of cases.  In simulations with the scatter of real
--   jobs, 60 to 200 runs, 10 to 200 nodes and effects of 3 to 12 %, 97 of 100 accused nodes are slow
--   (docs/statistics.md).  A node in all runs of its configuration, or in one run only, cannot be tested.  For hours,
--   runs next in time are not taken off.
--
-- Glance: suspect verdict slowdown% n_slower n_jobs n_others p_value more_jobs rivals evidence note
--
-- When empty: no configuration has jobs with a suspect and jobs without it
--
-- Sources: blamed_jobs, outlier_gpus
--
-- Parameters: runs, epochs, warmup, exclude
--   suspects := 'node'    what is tested: 'node', 'setting' or 'hour'
--   effect := 0.05        share by which a suspect would have to slow jobs to matter; for ordinary and more_jobs
--
-- Columns:
--   suspect           VARCHAR      node, setting with its value, day or hour; those of the same runs joined by +
--   verdict           VARCHAR      slow, confounded, ordinary or unknown
--   slowdown          DOUBLE       share by which runs with it are slower than comparable runs without it
--   slowdown_low      DOUBLE       lower end of its interval
--   slowdown_high     DOUBLE       upper end of its interval
--   interval_kind     VARCHAR      ci95, or range of the runs where there are fewer than six
--   n_slower          BIGINT       runs with it that are slower than the median of the comparable runs without it
--   n_jobs            BIGINT       runs with it that are compared; those that another accused suspect explains are not
--   n_others          BIGINT       comparable runs without it
--   p_value           DOUBLE       for all suspects together; NULL where it cannot be tested
--   more_jobs         BIGINT       further runs with it that would show `effect` in 80 of 100 cases; NULL unless unknown and not by its time
--   rivals            VARCHAR      suspects that it cannot be told from
--   evidence          VARCHAR      what measurements of single ranks say of the node
--   note              VARCHAR      the verdict in words
--   run_ids           VARCHAR[]    runs with it that have a time
WITH
compared AS (FROM blamed_jobs(runs := runs, epochs := epochs, warmup := warmup, exclude := exclude, suspects := suspects)),
blamed AS (
    SELECT unnest(blame_labels(list(step_s ORDER BY run_id), list(configuration ORDER BY run_id),
        list(moment_s ORDER BY run_id), list(suspects_of ORDER BY run_id), any_value(effect::DOUBLE)), recursive := true)
    FROM compared),
measured AS (
    SELECT node, count(DISTINCT run_id) AS n_runs, count(DISTINCT run_id) FILTER (o.verdict = 'slow') AS n_slow
    FROM outlier_gpus(runs := runs) AS o
    WHERE suspects = 'node' AND node IS NOT NULL AND o.verdict IN ('slow', 'ordinary', 'intermittent') GROUP BY node),
runs_with AS (
    SELECT label, list(run_id ORDER BY run_id) AS run_ids FROM (SELECT run_id, unnest(suspects_of) AS label FROM compared) GROUP BY label),
beside AS (
    SELECT name, string_agg(format('{}: computes slowly in {} of {} {} with times of ranks', node, n_slow, n_runs,
        if(n_runs = 1, 'run', 'runs')), ', ' ORDER BY node) AS evidence
    FROM (SELECT name, unnest(string_split(name, '+')) AS node FROM blamed) JOIN measured USING (node) GROUP BY name)
SELECT name AS suspect, verdict, slowdown, low AS slowdown_low, high AS slowdown_high, kind AS interval_kind, n_slower,
    n_jobs, n_others, p_value, more_jobs, rivals, evidence,
    CASE verdict
        WHEN 'slow' THEN format('{:.1f} % slower in {} of {} jobs, p {:.2g}; comparable jobs without it are not',
            100 * slowdown, n_slower, n_jobs, p_value)
        WHEN 'confounded' THEN CASE WHEN rivals = 'its time'
            THEN 'all its jobs ran in one or two stretches of time, in which something else may have been slow'
            ELSE format('cannot be told from {}: jobs with one and without the other would', rivals) END
        WHEN 'ordinary' THEN format('less than {:g} % slower', 100 * effect::DOUBLE)
        WHEN 'unknown' THEN CASE
            WHEN rivals = 'its time' THEN 'jobs with it ran one after the other, so time may hide or explain a difference; jobs of others in between would tell'
            WHEN more_jobs IS NULL THEN format('jobs scatter too much to show an effect of {:g} %', 100 * effect::DOUBLE)
            WHEN n_jobs = 0 THEN format('no comparable jobs without it; about {} would show {:g} %', more_jobs, 100 * effect::DOUBLE)
            ELSE format('too few jobs: about {} more would show {:g} %', more_jobs, 100 * effect::DOUBLE) END
    END AS note, run_ids
FROM blamed LEFT JOIN beside USING (name) LEFT JOIN runs_with ON label = string_split(name, '+')[1]
ORDER BY list_position(['slow', 'confounded', 'unknown', 'ordinary'], verdict), p_value, slowdown DESC, suspect
