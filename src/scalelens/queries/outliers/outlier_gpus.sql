-- GPUs that are slower than their peers, always or at times, and ranks that are late for another reason.
--
-- Answers: Is a GPU, or a whole node, slow?
--   If a rank keeps the others waiting, is the reason its GPU, its host, its data or the network?
--   A rank is judged among its peers, the ranks of its pipeline stage, by its own compute time, without communication.
--   The step time does not count: waiting makes it equal for all.  Neither does what communication adds
--   to them: a rank that arrives first computes while collectives wait, and takes longer for it.
--   `slow`: it computes longer than the others by the threshold, less what is uncertain (2.6 standard errors and a
--   twentieth of what was taken out as contention, at most a fifth of the threshold), and by half of the threshold in
--   half of the steps; z is above 2, q below 0.03 and apart_p below 0.03 (work_scores): it stands apart from the others,
--   not at the end of a long tail of theirs.  Or its node is slow as a whole (node_scores) and it is itself longer by half
--   the threshold.  The cause is `gpu` where the time is that of kernels.
--   `intermittent`: it is not slow in half of its steps, but takes longer than its own median by the threshold in a
--   tenth of them or more, and in two at least, and the others do so too rarely for it to be chance (burst_q below
--   0.03).
--   `late`, if it is neither: it waits for data in half of its steps by the threshold (data_z above 3.5, data_q below
--   0.05), or late_ranks finds it late and it does not just pass on what another rank causes.
--   `contention`, if it is none of these: with what communication during its kernels adds, it computes longer by the
--   threshold in half of its steps; the evidence has the factor (contention).
--   `unknown`: it computes longer in half of its steps, but communication runs during more of it than of its peers and
--   none of its kernels shows what that adds, or it has only one peer and either could be the odd one, or its peers
--   differ as much from each other, or it may be chance or the end of a long tail of theirs, which few ranks cannot
--   exclude (the reason says how many could); or nothing of its own work is recorded.  A run whose log has
--   step times only is one row.
--   Real differences between ranks below the threshold are not a false alarm but a finding: a row without a rank says
--   how large they are, if they are 1 % or more beyond the scatter of the steps (p below 0.01, F-test; four peers,
--   three steps).
--   Evidence comes from compute times, waiting for data, arrival at collectives, power and clocks.  Devices whose power
--   or clock stands out (power_scores, clock_scores) are named with ranks that are slow, intermittent or unknown: these
--   files do not say which rank uses such a device.  A rank that the training's own straggler detector names
--   (straggler_reports) has that as evidence too; if nothing else is recorded of it, it stays unknown.
--
-- Formula:
--   x = compute time without communication (rank_work) / median of the stage in that step; z = (median x - 1) /
--   max(1.4826 MAD, 0.02) among the peers; ratio = the median of x over the steps.
--   p: the larger of a moderated t-test of the levels against the typical others, and of a binomial test of the steps
--   in which it is longer by half the threshold.  q after Holm.  apart_p = t / (s + t): s the
--   likelihood of all levels if it and those above it are slow and those below are normal, t if fewer are slow, or none,
--   and the others have a long tail (exponential, Moyal, Gumbel or Student's t with 5 degrees of freedom); integrated over
--   the middle, and over spreads as they are expected (statistics/peers.py).  Bursts: a binomial test
--   against how often the peers have any.
--
-- Reference: Smyth, Statistical Applications in Genetics and Molecular Biology 3(1), 2004; Rousseeuw and Croux, J.
--   American Statistical Association 88, 1993; Holm, Scandinavian J. Statistics 6, 1979.  statistics/peers.py.
--
-- Assumptions: Ranks of one stage have the same work, and devices of one model differ by about 2 %.
--
-- Limits: Needs each rank's own compute time: step times of one rank cannot tell.  In simulations with 3 % jitter and
--   five steps, a rank slower by 15 % is slow or `unknown` in at least 95 % of jobs, of which few ranks allow few to be
--   called slow (30 % among 8, 50 % among 16, 88 % among 64: docs/statistics.md); at most 5 % of clean jobs name one.  With
--   20 steps that scatter by 1 % and kernels that scatter by 5 %, one slower by 10 % is found in 95 %, whatever runs
--   during its kernels, and of jobs in which a rank only overlaps more with communication at most 2 % call it slow.
--
-- Glance: run_id rank node device verdict cause ratio flagged_share% q blame_share% compute_s n_steps peers z
--   contention beside_share% node_ratio reason
--
-- Partition: run_id
--
-- Sources: rank_places, work_scores, late_ranks, power_scores, clock_scores, straggler_reports, events, steps, runs, selected_runs
--
-- Parameters: runs, tolerance_us, threshold
--
-- Columns:
--   run_id             VARCHAR     run
--   rank               INTEGER     rank; NULL where the row is about all ranks of the run or of the stage
--   node               VARCHAR     host name, or the ranks of its block; NULL where not known (rank_places)
--   device             VARCHAR     device as its process numbers it; NULL where not known
--   verdict            VARCHAR     slow, intermittent, late, contention, ordinary or unknown
--   cause              VARCHAR     gpu, host, input, network or contention
--   stage              INTEGER     pipeline stage; NULL where not known: then all ranks are peers
--   peers              BIGINT      ranks of the stage, including this one
--   n_steps            BIGINT      steps compared
--   compute_s          DOUBLE s    median of its compute time
--   ratio              DOUBLE      median over steps of its compute time, without communication, over the peers' median
--                                  (with two ranks: over the smaller)
--   with_contention    DOUBLE      the same with what communication during its kernels adds
--   contention         DOUBLE      how many times as long its kernels take during communication; NULL where not known
--   beside_share       DOUBLE      median over steps of the share of its kernels' time in which communication runs
--   z                  DOUBLE      how far it stands out among its peers over all steps
--   flagged_share      DOUBLE      share of the steps in which it computes longer than its peers by the threshold
--   p                  DOUBLE      probability of standing out so far by chance
--   q                  DOUBLE      p adjusted for all ranks of the run
--   node_ratio         DOUBLE      its node over the other nodes; NULL where nodes are not compared
--   blame_share        DOUBLE      its share of the waiting at collectives that late ranks cause
--   late_share         DOUBLE      its lateness at collectives over its time in steps (late_ranks)
--   evidence           VARCHAR     what was found, in words: computing, its node, waiting for data, arrival at
--                                  collectives, detectors, power, clock
--   reason             VARCHAR     why it is not called slow or late where one may ask, and what cannot be known
WITH
places AS (FROM rank_places(runs := runs)),
scores AS MATERIALIZED (FROM work_scores(runs := runs, threshold := threshold)),
pipelines AS (
    SELECT DISTINCT run_id FROM events AS e JOIN runs AS r USING (run_id)
    WHERE r.pp IS NULL AND (e.collective IN ('send', 'recv') OR e.name IN ('nccl:send', 'nccl:recv'))),
ranks AS (
    SELECT *, w.q AS compute_q, run_id IN (FROM pipelines) AS no_stages, coalesce(l.cause, '') AS late_cause,
        coalesce(flagged >= n_steps / 2 AND flagged > 0, false) AS is_longer,
        least(2.6 * noise + coalesce(abs(with_contention / ratio - 1), 0) / 20, threshold / 5)
            AS allowance, coalesce(contention IS NULL AND beside_more > 0.05, false)
            AS is_hidden,
        row_number() OVER (PARTITION BY run_id, stage ORDER BY level DESC NULLS LAST, rank) = 1 AS is_slowest
    FROM scores AS w
    FULL JOIN late_ranks(runs := runs, tolerance_us := tolerance_us) AS l USING (run_id, rank)),
judged AS MATERIALIZED (
    SELECT *, coalesce(bursts >= 2 AND bursts >= n_steps / 10 AND burst_q < 0.03, false)
            AND NOT no_stages AS is_bursty,
        coalesce(on_slow_node AND ratio > 1 + threshold / 2, false) AND NOT no_stages AND NOT is_hidden AS is_of_node,
        coalesce(excess >= threshold - allowance AND leaning >= n_steps / 2 AND z > 2 AND compute_q < 0.03, false)
            AND NOT no_stages AND NOT is_hidden AND (is_longer OR NOT is_bursty) AS stands_out,
        is_of_node OR stands_out AND apart_p < 0.03 AS is_slow,
        coalesce(data_flagged >= n_data_steps / 2 AND data_z > 3.5 AND data_q < 0.05, false) AS is_starved,
        late_cause NOT IN ('', 'upstream') AS is_late,
        coalesce(contention > 1 AND contended >= n_steps / 2 AND contended > 0, false) AS is_contended
    FROM ranks),
verdicts AS (
    SELECT *, CASE WHEN is_slow THEN 'slow' WHEN stands_out THEN 'unknown' WHEN is_bursty THEN 'intermittent' WHEN is_starved OR is_late THEN 'late'
        WHEN is_longer OR coalesce(n_steps, 0) = 0 THEN 'unknown' WHEN is_contended THEN 'contention'
        ELSE 'ordinary' END AS verdict
    FROM judged),
sensed AS (
    SELECT run_id, string_agg(finding, '; ' ORDER BY position) AS standing_out
    FROM (
        SELECT run_id, 1 AS position, 'power: ' || string_agg(format('device {} draws {:.2f} times as much as the others',
            concat_ws(':', node, device), ratio), ', ' ORDER BY abs(z) DESC, node, device) AS finding
        FROM power_scores(runs := runs) WHERE stands_out GROUP BY run_id
        UNION ALL
        SELECT run_id, 2, 'clock: ' || string_agg(format('device {} works at {:.2f} times the clock of the others{}',
            concat_ws(':', node, device), ratio, coalesce(' (' || limited_by || ')', '')), ', ' ORDER BY z, node, device)
        FROM clock_scores(runs := runs) WHERE stands_out GROUP BY run_id)
    GROUP BY run_id),
reported AS (
    SELECT run_id, rank, any_value(node) AS node, string_agg(format('{}: {} {} by {:.0f} % in {} of {} reports', tool,
        measure, CASE measure WHEN 'clock' THEN 'lower' WHEN 'own kernels' THEN 'slower than at its best'
            ELSE 'slower than the fastest rank' END, 100 * excess, n_named, n_reports), '; ' ORDER BY tool, measure) AS tools_say
    FROM straggler_reports(runs := runs, threshold := threshold) WHERE stands_out GROUP BY run_id, rank),
differing AS (
    SELECT run_id, stage, count(*) AS peers, max(n_steps) AS n_steps, arg_max(rank, ratio) AS slowest,
        max(ratio) AS ratio, true_spread(list(level), any_value(noise), max(n_steps)) AS apart
    FROM scores WHERE n_steps > 2 AND NOT on_slow_node GROUP BY run_id, stage)
SELECT run_id, rank, coalesce(v.node, p.node) AS node, p.device, verdict,
    CASE WHEN verdict IN ('slow', 'intermittent') THEN CASE WHEN origin IN ('trace', 'device') THEN 'gpu' END
        WHEN is_starved THEN 'input' WHEN is_late THEN late_cause WHEN verdict = 'contention' THEN 'contention' END AS cause,
    stage, peers, n_steps, compute_s, ratio, with_contention, contention, beside_share, z, flagged / nullif(n_steps, 0) AS flagged_share, v.p, compute_q AS q,
    node_ratio, blame_share, late_share,
    notes([
        CASE WHEN n_steps > 0 THEN format('computes {:.3f} times as long as its peers, {:.0f} % longer or more in {} of {} '
            || 'steps', ratio, 100 * threshold, flagged, n_steps) END,
        CASE WHEN is_contended THEN format('during communication, {:.0f} % of their time, its kernels take '
            || '{:.2f} times as long: {:.3f} times its peers'' with that', 100 * beside_share, contention,
            with_contention) END,
        CASE WHEN verdict = 'intermittent' THEN format('in {} of them {:.2f} times as long', bursts, burst_ratio) END,
        CASE WHEN is_of_node THEN format('its node as a whole takes {:.3f} times as long as the others', node_ratio) END,
        CASE WHEN data_ratio IS NOT NULL THEN format('waits for data {:.1f} % of a step longer than its peers',
            100 * data_ratio) END,
        CASE WHEN collectives > 0 THEN format('last at {} of {} collectives, {:.0f} % of the blame', times_last,
            collectives, 100 * coalesce(blame_share, 0)) END,
        CASE WHEN late_cause NOT IN ('', 'network') THEN format('late by {} of its steps: computing {:.0f} %, data '
            || '{:.0f} %, other groups {:.0f} % of that', CASE WHEN late_share > 1 THEN format('{:.2f} times the time', late_share)
            ELSE format('{:.1f} %', 100 * late_share) END, 100 * computes_s / lateness_s,
            100 * loads_s / lateness_s, 100 * upstream_s / lateness_s) END,
        CASE WHEN network_ratio IS NOT NULL THEN format('collectives of its group take {:.2f} times as long as those of '
            || 'other groups', network_ratio) END,
        tools_say, CASE WHEN verdict IN ('slow', 'intermittent', 'unknown') THEN standing_out END]) AS evidence,
    notes([
        CASE WHEN no_stages THEN 'ranks send to each other, but the pipeline stages are not known, and so neither are '
            || 'the peers: label the run with pp' END,
        CASE WHEN is_of_node THEN 'the whole node is slow: something that its ranks share, such as power, cooling or the '
            || 'host, is more likely than each of its GPUs' END,
        CASE WHEN origin = 'device' AND verdict = 'ordinary' THEN 'the time between two events on a device includes its '
            || 'waiting for others: that it is equal does not show that all devices are equally fast' END,
        CASE WHEN verdict IN ('slow', 'intermittent') AND origin NOT IN ('trace', 'device')
            THEN 'the times come from timers on the host: they do not distinguish GPU and host' END,
        CASE WHEN verdict = 'intermittent' AND n_steps < 10
            THEN format('{} steps are too few for a pattern: profile more', n_steps) END,
        CASE WHEN compute_s IS NULL THEN 'its compute time is not recorded, and step times, which waiting makes equal, '
            || 'do not show a slow GPU' WHEN peers < 2 THEN 'no peer was measured' END,
        CASE WHEN (is_longer OR stands_out) AND verdict NOT IN ('slow', 'intermittent') AND NOT no_stages THEN CASE
            WHEN is_hidden THEN format('communication runs during {:.0f} % of what it computes, more than during its '
                || 'peers, and no kernel shows how much longer that takes', 100 * beside_share)
            WHEN peers = 2 THEN 'it computes longer than its only peer: of two ranks, either could be the odd one'
            WHEN z <= 2 THEN format('its peers differ among themselves: spread {:.0f} %', 100 * spread)
            WHEN compute_q >= 0.03 THEN format('that it computes longer in {} of {} steps may be chance: q = {:.2g}',
                    flagged, n_steps, compute_q)
                || CASE WHEN 0.05 ** n_steps * peers >= 0.03 THEN format('; so few steps cannot make q small enough among '
                    || '{} ranks: profile five or more', peers) ELSE '' END
            WHEN apart_p >= 0.03 THEN format('{}, but cannot be told from the end of a long tail of its peers (p = {:.2g}): '
                || 'more steps or runs of the same devices do not change that{}',
                if(is_slowest, 'it is the slowest', 'it computes longer'), apart_p, CASE
                    WHEN enough > 0 THEN format('; {} ranks that differ as these do would show it', enough)
                    WHEN is_slowest AND peers > 3 THEN ', nor do more ranks if they differ as these do' ELSE '' END)
            ELSE 'compared with the median of the others it is below the threshold' END END,
        CASE late_cause WHEN 'upstream' THEN 'late because it waits for other ranks itself'
            WHEN 'network' THEN 'which rank of its group is the cause cannot be known' END]) AS reason
FROM verdicts AS v LEFT JOIN places AS p USING (run_id, rank) LEFT JOIN sensed USING (run_id)
    LEFT JOIN reported USING (run_id, rank)
UNION ALL BY NAME
SELECT run_id, rank, coalesce(t.node, p.node) AS node, p.device, 'unknown' AS verdict, tools_say AS evidence,
    'a detector in the training names it; its compute time in each step is not recorded' AS reason
FROM reported AS t LEFT JOIN places AS p USING (run_id, rank)
WHERE (run_id, rank) NOT IN (SELECT (run_id, rank) FROM verdicts WHERE rank IS NOT NULL)
UNION ALL BY NAME
SELECT run_id, NULL AS rank, 'ordinary' AS verdict, stage, peers, n_steps, ratio, apart.p AS p,
    format('ranks differ by {:.1f} % in their compute time (one standard deviation, 95 % {:.1f} to {:.1f} %) beyond the '
        || 'scatter of their steps; longest: rank {}, {:.3f} times the median', 100 * apart.share, 100 * apart.low,
        100 * apart.high, slowest, ratio) AS evidence,
    'whether their devices differ, or the work that they are given, cannot be known' AS reason
FROM differing WHERE apart.p < 0.01 AND apart.share >= 0.01 AND run_id NOT IN (FROM pipelines)
UNION ALL BY NAME
SELECT run_id, NULL AS rank, 'unknown' AS verdict, any_value(standing_out) AS evidence,
    CASE WHEN any_value(r.devices) = 1 THEN 'one device has no peer'
        WHEN count(DISTINCT s.rank) > 1 THEN format('only step times of {} ranks, which waiting makes equal, and nothing of '
            || 'their own work', count(DISTINCT s.rank))
        ELSE 'step times of one rank alone cannot tell' END AS reason
FROM steps AS s JOIN runs AS r USING (run_id) LEFT JOIN sensed USING (run_id)
WHERE s.step_s IS NOT NULL AND run_id IN (FROM selected_runs(runs := runs))
    AND run_id NOT IN (SELECT run_id FROM verdicts)
GROUP BY run_id
ORDER BY run_id, list_position(['slow', 'intermittent', 'late', 'contention', 'unknown', 'ordinary'], verdict), rank
