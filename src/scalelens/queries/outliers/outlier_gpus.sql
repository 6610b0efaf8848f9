-- GPUs that are slower than their peers, and ranks that are late for another reason.
--
-- Answers: Is a GPU slow?  If a rank keeps the others waiting, is it its GPU, its host, its data or the network?
--   A rank is judged among its peers, the ranks of one pipeline stage, by its own compute time, never by the step time,
--   which waiting makes equal for all.  It is slow if it is flagged, computing 10 % longer, in at least half of its steps,
--   q is below 0.05 and z above 3.5 (work_scores); its cause is `gpu` where the time is that of kernels.  A rank
--   that is not slow is late if it waits for data by the same rule, or if late_ranks says so and it does not pass on what
--   another rank causes.
--   Unknown: it computes longer, but with two peers nobody can tell which one is odd, or the peers differ by as much, or it
--   may be an accident; or nothing of its own work is recorded.  A run whose log has step times alone is one row.
--   Devices whose power stands out (power_scores) are named beside ranks that are slow or unknown.  Power files do not say
--   which rank has such a device.
--
-- Sources: rank_work, work_scores, late_ranks, power_scores, events, steps, runs, selected_runs
--
-- Parameters:
--   runs := ''              SQL condition over the columns of `runs`, as text; empty takes all
--   tolerance_us := 10      microseconds by which the ends of a collective may differ between equal clocks
--
-- Columns:
--   run_id           VARCHAR     run
--   rank             INTEGER     rank, NULL where a run says nothing of its ranks' own work
--   verdict          VARCHAR     slow, late, ordinary or unknown
--   cause            VARCHAR     gpu, host, input or network
--   stage            INTEGER     pipeline stage, NULL where not known: all ranks are peers
--   peers            BIGINT      ranks of the stage, itself included
--   n_steps          BIGINT      steps compared
--   compute_s        DOUBLE s    median of its compute time
--   ratio            DOUBLE      median over steps of its compute time over the peers' median (of two: over the smaller)
--   z                DOUBLE      how far it stands out among its peers over all steps
--   flagged_share    DOUBLE      share of the steps in which it computes 10 % longer than its peers
--   p                DOUBLE      probability of so many flags by accident
--   q                DOUBLE      the same over all ranks of the run
--   blame_share      DOUBLE      its share of the waiting at collectives that late ranks cause
--   evidence         VARCHAR     in words: computing, waiting for data, arrival at collectives, power
--   reason           VARCHAR     why it is not called slow or late where that may be asked, and what cannot be known
WITH
own_work AS MATERIALIZED (FROM rank_work(runs := runs)),
pipelines AS (
    SELECT DISTINCT run_id FROM events AS e JOIN runs AS r USING (run_id)
    WHERE r.pp IS NULL AND (e.collective IN ('send', 'recv') OR e.name IN ('nccl:send', 'nccl:recv'))),
ranks AS (
    SELECT *, w.q AS compute_q, run_id IN (FROM pipelines) AS no_stages, coalesce(l.cause, '') AS late_cause,
        coalesce(flagged >= n_steps / 2 AND flagged > 0, false) AS is_longer
    FROM work_scores(work := 'own_work') AS w
    FULL JOIN late_ranks(runs := runs, tolerance_us := tolerance_us, work := 'own_work') AS l USING (run_id, rank)),
judged AS MATERIALIZED (
    SELECT *, coalesce(is_longer AND z > 3.5 AND compute_q < 0.05 AND NOT no_stages, false) AS is_slow,
        coalesce(data_flagged >= n_data_steps / 2 AND data_z > 3.5 AND data_q < 0.05, false) AS is_starved,
        late_cause NOT IN ('', 'upstream') AS is_late
    FROM ranks),
verdicts AS (
    SELECT *, CASE WHEN is_slow THEN 'slow' WHEN is_starved OR is_late THEN 'late' WHEN is_longer THEN 'unknown'
        WHEN coalesce(n_steps, 0) = 0 THEN 'unknown' ELSE 'ordinary' END AS verdict
    FROM judged),
powers AS (
    SELECT run_id, 'power: ' || string_agg(format('device {} draws {:.2f} times as much as the others',
        concat_ws(':', node, device), ratio), ', ' ORDER BY abs(z) DESC, node, device) AS standing_out
    FROM power_scores(runs := runs) WHERE stands_out GROUP BY run_id)
SELECT run_id, rank,
    verdict,
    CASE WHEN is_slow AND origin = 'trace' THEN 'gpu' WHEN is_slow THEN NULL WHEN is_starved THEN 'input'
        WHEN is_late THEN late_cause END AS cause,
    stage, peers, n_steps, compute_s, ratio, z, flagged / nullif(n_steps, 0) AS flagged_share, p, compute_q AS q,
    blame_share,
    nullif(concat_ws('; ',
        CASE WHEN n_steps > 0 THEN format('computes {:.3f} times as long as its peers, a tenth longer or more in {} of {} '
            || 'steps', ratio, flagged, n_steps) END,
        CASE WHEN data_ratio IS NOT NULL THEN format('waits for data {:.1f} % of a step beyond its peers',
            100 * data_ratio) END,
        CASE WHEN collectives > 0 THEN format('last at {} of {} collectives, {:.0f} % of the blame', times_last,
            collectives, 100 * coalesce(blame_share, 0)) END,
        CASE WHEN late_cause NOT IN ('', 'network') THEN format('late by {:.1f} % of its steps: computing {:.0f} %, data '
            || '{:.0f} %, other groups {:.0f} % of that', 100 * late_share, 100 * computes_s / lateness_s,
            100 * loads_s / lateness_s, 100 * upstream_s / lateness_s) END,
        CASE WHEN network_ratio IS NOT NULL THEN format('collectives of its group take {:.2f} times as long as those of '
            || 'other groups', network_ratio) END,
        CASE WHEN verdict IN ('slow', 'unknown') THEN standing_out END), '') AS evidence,
    nullif(concat_ws('; ',
        CASE WHEN no_stages THEN 'ranks send to each other and the pipeline stages are not known, so that the peers are '
            || 'not: label the run with pp' END,
        CASE WHEN is_slow AND origin <> 'trace'
            THEN 'the times are those of timers on the host: whether GPU or host cannot be told' END,
        CASE WHEN compute_s IS NULL THEN 'its compute time is not recorded, and step times, which waiting makes equal, '
            || 'do not tell a slow GPU' WHEN peers < 2 THEN 'no peer was measured' END,
        CASE WHEN is_longer AND NOT is_slow AND NOT no_stages THEN CASE
            WHEN peers = 2 THEN 'it computes longer than its only peer: of two it cannot be told which is the odd one'
            WHEN z <= 3.5 THEN format('its peers differ among themselves: spread {:.0f} %', 100 * spread)
            ELSE format('that it computes longer in {} of {} steps may be an accident: q = {:.2g}', flagged, n_steps,
                compute_q) END END,
        CASE late_cause WHEN 'upstream' THEN 'late, for it waits for other ranks itself'
            WHEN 'network' THEN 'of the ranks of its group it cannot be told which' END), '') AS reason
FROM verdicts LEFT JOIN powers USING (run_id)
UNION ALL BY NAME
SELECT run_id, NULL AS rank, 'unknown' AS verdict, any_value(standing_out) AS evidence,
    CASE WHEN any_value(r.devices) = 1 THEN 'one device has no peer'
        WHEN count(DISTINCT s.rank) > 1 THEN format('step times of {} ranks, which waiting makes equal, and nothing of '
            || 'their own work', count(DISTINCT s.rank))
        ELSE 'from step times of one rank alone it cannot be known' END AS reason
FROM steps AS s JOIN runs AS r USING (run_id) LEFT JOIN powers USING (run_id)
WHERE s.step_s IS NOT NULL AND run_id IN (FROM selected_runs(runs := runs))
    AND run_id NOT IN (SELECT run_id FROM verdicts)
GROUP BY run_id
ORDER BY run_id, list_position(['slow', 'late', 'unknown', 'ordinary'], verdict), rank
