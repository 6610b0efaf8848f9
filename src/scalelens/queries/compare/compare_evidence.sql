-- Signs of a cause where b is slower than a: input, a GPU, a node, throttling, memory, something periodic.
--
-- Answers: Where should I look first when b is slower than a?
--   A sign counts where b shows it and a does not.  A sign is not a proof, and there may be several.
--   input       the wait for data grew by at least half of what the step grew by, and by 1 % of a step or more
--   gpu, host   outlier_gpus names a rank of b as slow or late for that reason; likewise network, and rank where the reason
--               is not known.  A late GPU counts only if it computes 1.05 times as long as its peers or more: some device is
--               always the slowest
--   contention  a rank of b takes longer by what communication during its kernels adds (outlier_gpus)
--   node        all ranks of a node of b are slow, and there are other nodes
--   throttling  within b, clocks fall by 3 % or more from the first to the last third of the run while steps become longer
--               by 2 % or more; without clocks, power is compared instead
--   allocator   memory reserved over memory allocated is 1.2 times that of a, or allocations were retried in b only
--   periodic    every nth step of b takes 1.5 times the median or more, for one n; the evidence counts the checkpoints that
--               the log names
--
-- Formula: a_sign and b_sign are the share, ratio or count that the rule of the cause looks at, on either side;
--   is_there where that of b passes its limit and that of a does not.
--
-- Limits: A sign is not a proof.  Where nothing was recorded for a cause, its sign is NULL: it may still be there.
--
-- Glance: cause is_there evidence a_sign b_sign
--
-- Sources: two_sides, selected_steps, steps, metrics, power, members, phases, outlier_gpus, runs
--
-- Parameters: a, b
--
-- Columns:
--   cause       VARCHAR    input, gpu, host, network, contention, rank, node, throttling, allocator or periodic
--   is_there    BOOLEAN    whether b shows the sign and a does not
--   a_sign      DOUBLE     size of the sign on the first side: a share, or slow ranks; NULL where nothing was recorded
--   b_sign      DOUBLE     size of the sign on the second side
--   evidence    VARCHAR    the sign in words
WITH
members_of AS (FROM two_sides(a := a, b := b)),
timed AS (
    SELECT side, t.run_id, t.attempt, t.step, step_s, t.ts, position_in_run,
        ntile(3) OVER (PARTITION BY t.run_id ORDER BY position_in_run) AS third,
        median(step_s) OVER (PARTITION BY t.run_id) AS median_s
    FROM selected_steps(exclude := 'none', warmup := 0) AS t JOIN members_of USING (run_id) WHERE position_in_run > 2),
waits AS (
    SELECT run_id, coalesce(attempt, 0) AS attempt, step, max(data_s) AS data_s
    FROM steps WHERE phase = 'train' AND data_s IS NOT NULL GROUP BY ALL),
medians AS (
    SELECT side, median(step_s) AS step_s, median(data_s) AS data_s
    FROM timed AS t LEFT JOIN waits AS w ON w.run_id = t.run_id AND w.attempt = t.attempt AND w.step = t.step
    GROUP BY side),
inputs AS (
    SELECT 'input' AS cause, a.data_s / a.step_s AS a_sign, b.data_s / b.step_s AS b_sign,
        format('a step is {:.3g} s longer, the wait for data {:.3g} s', b.step_s - a.step_s, b.data_s - a.data_s) AS evidence
    FROM medians AS a, medians AS b
    WHERE a.side = 'a' AND b.side = 'b' AND b.data_s - a.data_s >= greatest(0.5 * (b.step_s - a.step_s), 0.01 * a.step_s)),
ranks AS (
    SELECT side, o.run_id, rank, cause, o.evidence, rank // nullif(devices_per_node, 0) AS node,
        count(*) OVER node_of = count(*) FILTER (o.verdict = 'slow') OVER node_of AND count(*) OVER node_of > 1
            AND count(*) OVER node_of < count(*) OVER (PARTITION BY o.run_id) AS is_node,
        o.verdict IN ('slow', 'contention') OR o.verdict = 'late' AND NOT coalesce(o.cause = 'gpu' AND o.ratio < 1.05, false) AS stands_out
    FROM outlier_gpus() AS o JOIN members_of USING (run_id) JOIN runs AS r USING (run_id) WHERE rank IS NOT NULL
    WINDOW node_of AS (PARTITION BY o.run_id, rank // nullif(devices_per_node, 0))),
slow_ranks AS (
    SELECT CASE WHEN is_node THEN 'node' ELSE coalesce(cause, 'rank') END AS cause,
        count(*) FILTER (side = 'a')::DOUBLE AS a_sign, count(*) FILTER (side = 'b')::DOUBLE AS b_sign,
        string_agg(DISTINCT CASE WHEN is_node THEN format('all ranks of node {}', node)
            ELSE format('rank {}: {}', rank, coalesce(ranks.evidence, '')) END, '; ') FILTER (side = 'b') AS evidence
    FROM ranks WHERE stands_out GROUP BY ALL HAVING a_sign = 0 AND b_sign > 0),
clocks AS (
    SELECT t.side, t.run_id, third, median(m.value) AS clock
    FROM metrics AS m JOIN timed AS t ON t.run_id = m.run_id AND t.step = m.step
    WHERE regexp_matches(m.name, '(?i)clock') AND regexp_matches(m.unit, '(?i)hz') GROUP BY ALL),
powers AS (
    SELECT t.side, t.run_id, third, median(power_w) AS power_w
    FROM (SELECT side, run_id, third, min(ts) AS begins, max(ts) AS ends FROM timed GROUP BY ALL) AS t
    JOIN power AS p ON p.run_id = t.run_id AND p.ts BETWEEN begins AND ends
    WHERE p.scope IN ('gpu', 'gcd', 'oam') AND p.flag IS NULL
        AND (p.file_id, p.part) NOT IN (SELECT (file_id, part) FROM main.members WHERE why = 'copy')
    GROUP BY ALL),
thirds AS (
    SELECT t.side, t.run_id, median(step_s) FILTER (third = 3) / median(step_s) FILTER (third = 1) - 1 AS longer
    FROM timed AS t GROUP BY ALL),
falls AS (
    SELECT side, run_id, 'clock' AS what, max(clock) FILTER (third = 3) / max(clock) FILTER (third = 1) - 1 AS fall
    FROM clocks GROUP BY ALL
    UNION ALL
    SELECT side, run_id, 'power', max(power_w) FILTER (third = 3) / max(power_w) FILTER (third = 1) - 1
    FROM powers WHERE run_id NOT IN (SELECT run_id FROM clocks) GROUP BY ALL),
throttled AS (
    SELECT 'throttling' AS cause, min(fall) FILTER (side = 'a') AS a_sign, min(fall) FILTER (side = 'b') AS b_sign,
        format('{} falls by {:.1f} % within b while steps become {:.1f} % longer', any_value(what) FILTER (side = 'b'),
            -100 * b_sign, 100 * max(longer) FILTER (side = 'b')) AS evidence
    FROM falls JOIN thirds USING (side, run_id)
    HAVING bool_or(side = 'b' AND fall <= -0.03 AND longer >= 0.02)
        AND NOT coalesce(bool_or(side = 'a' AND fall <= -0.03 AND longer >= 0.02), false)),
memory AS (
    SELECT side, max(value) FILTER (regexp_matches(name, '(?i)reserved'))
            / nullif(max(value) FILTER (regexp_matches(name, '(?i)allocated')), 0) AS reserved_share,
        max(value) FILTER (regexp_matches(name, '(?i)alloc.*retr')) AS retries
    FROM metrics JOIN members_of USING (run_id) GROUP BY side),
fragmented AS (
    SELECT 'allocator' AS cause, a.reserved_share AS a_sign, b.reserved_share AS b_sign,
        notes([format('reserved is {:.2f} times what is allocated in b, {:.2f} times in a', b.reserved_share,
            a.reserved_share), format('{:.0f} allocations were retried in b', nullif(b.retries, 0))]) AS evidence
    FROM memory AS a, memory AS b
    WHERE a.side = 'a' AND b.side = 'b'
        AND (b.reserved_share >= 1.2 * a.reserved_share OR (b.retries > 0 AND coalesce(a.retries, 0) = 0))),
slow_steps AS (
    SELECT side, run_id, step, step - lag(step) OVER (PARTITION BY run_id, attempt ORDER BY step) AS gap,
        step_s / median_s - 1 AS longer
    FROM timed WHERE step_s >= 1.5 * median_s),
saves AS (SELECT side, count(*) AS n_saves FROM phases JOIN members_of USING (run_id) WHERE phase = 'checkpoint' GROUP BY side),
rhythms AS (
    SELECT side, mode(gap) AS gap, avg(longer) AS longer, count(gap) AS n_gaps
    FROM slow_steps GROUP BY side, run_id
    HAVING count(gap) >= 3 AND mode(gap) > 1 AND avg((gap = (SELECT mode(g.gap) FROM slow_steps AS g
        WHERE g.run_id = slow_steps.run_id))::INTEGER) >= 0.8),
periodic AS (
    SELECT 'periodic' AS cause, NULL::DOUBLE AS a_sign, max(longer) / max(gap) AS b_sign,
        format('every {}th step of b takes {:.1f} times the median', max(gap), 1 + max(longer))
            || coalesce((SELECT format('; {} checkpoints are logged', n_saves) FROM saves WHERE side = 'b'), '') AS evidence
    FROM rhythms WHERE side = 'b' AND (SELECT count(*) FROM rhythms WHERE side = 'a') = 0 HAVING count(*) > 0),
signs AS (FROM inputs UNION ALL FROM slow_ranks UNION ALL FROM throttled UNION ALL FROM fragmented UNION ALL FROM periodic)
SELECT c.cause, f.cause IS NOT NULL AS is_there, a_sign, b_sign, evidence
FROM (SELECT unnest(['allocator', 'contention', 'gpu', 'host', 'input', 'network', 'node', 'periodic', 'rank', 'throttling'])
    AS cause) AS c
LEFT JOIN signs AS f USING (cause)
ORDER BY is_there DESC, c.cause, evidence
