-- Each node's ranks together, compared with the other nodes.
--
-- Answers: Does a whole node compute longer than the others?
--   The level of a node is that of its middle rank, the faster one of two: it is high if more than half of its ranks
--   are slow.  Nodes with two ranks or more are compared within a pipeline stage.  p comes from a moderated t-test
--   against the other nodes, with 2 % and the scatter of the ranks as the spread that is expected between nodes
--   (statistics/peers.py); q is adjusted for all nodes of the run.  Holm's correction keeps a node that is slow
--   beyond doubt from making it easier for a second one; and it has to stand apart, not at the end of a long tail of
--   the others (apart_p, as that of ranks: work_scores).
--   A node is slow if it is longer by the threshold, q is below 0.03 and, with three nodes or more, z is above 2; with
--   four or more apart_p is below 0.03.  Of fewer none can be told from the end of a tail of nodes, but the level of a node
--   is that of its middle rank, which single ranks at the end of a tail do not move.  With two nodes, the slower one is slow
--   compared with the other.
--
-- Formula:
--   level = median over its ranks of each rank's median over the steps of x, with x its compute time over the median of
--   the stage; ratio = level / median of the other nodes.
--   p: moderated t-test, variance (8 (0.02^2 + e^2) + S) / (8 + f), with S the squares and f the degrees of freedom of
--   the other nodes, e the standard error of a level.  q after Holm.
--
-- Reference: Smyth, Statistical Applications in Genetics and Molecular Biology 3(1), 2004; Holm, Scandinavian
--   J. Statistics 6, 1979.  statistics/peers.py.
--
-- Assumptions: Nodes of one stage have the same work, and devices of one model differ by about 2 %.
--
-- Limits: A node with one rank is not tested.  Of two nodes, the slower one is named in comparison with the other.
--
-- Glance: run_id node is_slow ratio z q ranks compared stage
--
-- Partition: run_id
--
-- Sources: work_ratios
--
-- Parameters: runs, threshold
--
-- Columns:
--   run_id      VARCHAR    run
--   stage       INTEGER    pipeline stage; NULL where not known
--   node        VARCHAR    host name, or the ranks of its block
--   ranks       BIGINT     number of its ranks that are compared
--   compared    BIGINT     nodes of the stage, including this one
--   ratio       DOUBLE     its level over the median of the other nodes
--   z           DOUBLE     how far its level stands out among the nodes
--   p           DOUBLE     probability of being so far above the others by chance
--   q           DOUBLE     p adjusted for all nodes of the run
--   apart_p     DOUBLE     probability that it is the end of a long tail; NULL where q is 0.03 or more, or two others
--                          are not known
--   is_slow     BOOLEAN    whether it is slow by the rule above; NULL where only apart_p is against it
WITH
levels AS (
    SELECT run_id, stage, node, rank, median(beyond) + 1 AS level FROM work_ratios(runs := runs)
    WHERE node IS NOT NULL GROUP BY ALL HAVING count(beyond) > 0),
of_nodes AS (
    SELECT run_id, stage, node, count(*) AS ranks, quantile_disc(level, 0.5) AS level,
        1.2533 * 1.4826 * mad(level) / sqrt(count(*)) AS error
    FROM levels GROUP BY ALL HAVING count(*) > 1),
with_peers AS (
    SELECT *, count(*) OVER peer AS compared,
        (level - median(level) OVER peer) / greatest(1.4826 * mad(level) OVER peer, 0.02) AS z,
        median(error) OVER peer AS noise
    FROM of_nodes WINDOW peer AS (PARTITION BY run_id, stage)),
standings AS (
    SELECT run_id, stage, unnest(list(node)) AS node,
        unnest(standing(list(level), any_value(noise), list(true))) AS others
    FROM with_peers WHERE compared > 1 GROUP BY run_id, stage),
adjusted AS (
    SELECT run_id, unnest(list(stage)) AS stage, unnest(list(node)) AS node, unnest(list(others)) AS others,
        unnest(holm(list(others.p))) AS q
    FROM standings GROUP BY run_id)
SELECT run_id, c.stage, node, ranks, compared, level / others.middle AS ratio, z, others.p AS p, q,
    CASE WHEN q < 0.03 THEN min(others.tail_p) OVER fastest_first END AS apart_p,
    CASE WHEN coalesce(level >= others.middle * (1 + threshold) - least(noise, threshold / 4) AND q < 0.03
        AND (compared = 2 OR z > 2), false) THEN CASE WHEN compared < 4 OR apart_p < 0.03 THEN true END
        ELSE false END AS is_slow
FROM with_peers AS c JOIN adjusted AS a USING (run_id, node)
WHERE a.stage IS NOT DISTINCT FROM c.stage
WINDOW fastest_first AS (PARTITION BY run_id, c.stage, q < 0.03 ORDER BY level)
ORDER BY run_id, stage, ratio DESC, node
