-- Each rank's own work in each step compared with its peers.
--
-- Answers: How much longer than its peers does a rank compute, or wait for data, in a step?
--   Peers are the ranks of one pipeline stage; where stages are not known, all ranks.  `beyond` is x / median - 1.
--   Compared is what computing takes without communication (rank_work): kernels take longer during it, and that makes
--   the rank that arrives first compute longest.  `with_contention` compares the time as it was.
--
-- Helper: used by node_scores, outlier_gpus and work_scores
--
-- Sources: rank_work, rank_places
--
-- Parameters: runs
--
-- Columns:
--   run_id             VARCHAR     run
--   rank               INTEGER     rank
--   node               VARCHAR     host name, or the ranks of its block; NULL where not known
--   stage              INTEGER     pipeline stage; NULL where not known
--   origin             VARCHAR     trace, timers or log
--   train_step         BIGINT      step; NULL for a trace without steps
--   compute_s          DOUBLE s    time it computes
--   peers              BIGINT      peers whose compute time is known, including this rank
--   ratio              DOUBLE      compute time without communication over the peers' median (with two ranks: over the
--                                  smaller); NULL without a peer
--   beyond             DOUBLE      the same over the peers' median, less 1; with two ranks as well
--   with_contention    DOUBLE      compute time as it was over the peers' median (with two ranks: over the smaller)
--   beside_share       DOUBLE      share of its kernels' time in which communication runs, 0 to 1
--   beside_more        DOUBLE      that share less the median of the peers'
--   contention         DOUBLE      how many times as long its kernels take during communication; NULL where not known
--   loading            BIGINT      peers whose waiting for data is known, including this rank
--   data_ratio         DOUBLE      waiting for data less the peers' median, over the median of their step times
WITH
of_ranks AS MATERIALIZED (FROM rank_work(runs := runs)),
middles AS (
    SELECT run_id, stage, train_step, median(compute_s) AS compute_mid_s, min(compute_s) AS compute_least_s,
        median(alone_s) AS alone_mid_s, min(alone_s) AS alone_least_s, median(beside_share) AS beside_mid,
        min(beside_share) AS beside_least, count(compute_s) AS peers, median(data_s) AS data_mid_s, count(data_s) AS loading,
        median(step_s) AS step_mid_s
    FROM of_ranks GROUP BY ALL)
SELECT run_id, g.rank, p.node, g.stage, g.origin, g.train_step, g.compute_s, m.peers,
    CASE WHEN m.peers = 2 THEN alone_s / nullif(alone_least_s, 0)
        WHEN m.peers > 2 THEN alone_s / nullif(alone_mid_s, 0) END AS ratio,
    CASE WHEN m.peers > 1 THEN alone_s / nullif(alone_mid_s, 0) - 1 END AS beyond,
    CASE WHEN m.peers = 2 THEN compute_s / nullif(compute_least_s, 0)
        WHEN m.peers > 2 THEN compute_s / nullif(compute_mid_s, 0) END AS with_contention, beside_share,
    beside_share - CASE WHEN m.peers = 2 THEN beside_least ELSE beside_mid END AS beside_more, contention, m.loading,
    CASE WHEN loading > 1 THEN (data_s - data_mid_s) / nullif(step_mid_s, 0) END AS data_ratio
FROM of_ranks AS g JOIN middles AS m USING (run_id)
LEFT JOIN rank_places(runs := runs) AS p USING (run_id, rank)
WHERE m.stage IS NOT DISTINCT FROM g.stage AND m.train_step IS NOT DISTINCT FROM g.train_step
