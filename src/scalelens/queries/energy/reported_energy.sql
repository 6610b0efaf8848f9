-- Energy of each sensor as the tools report it: the rule by which windows, files and ranks add up.
--
-- Answers: How much energy does a tool itself report for a sensor, with each joule counted once?
--   Tools report energies of windows, of trackers, of counters between two readings.  Their times decide.  Windows that
--   follow each other add up; one within another adds nothing; where windows overlap in part, only bounds follow.  The
--   same energy printed again adds nothing; rows of a table of measurements are not repetitions.  Energies without times, or of clocks that cannot be compared, may be the
--   same or follow each other: between the largest and the sum of them.  Ranks of one node each measure all its
--   devices: one rank counts, the one whose power readings count, else the one that measured longest.
--
-- Formula: least: the largest sum of windows of which no two overlap; most: the smallest sum of windows that cover all
--   of their time.  Windows within another may miss its energy by 1 %: tools sample.
--
-- Helper: used by energy_integrated, energy_of_runs, energy_reconciled and energy_counted_twice
--
-- Needs: energy
--
-- Sources: energy, files, params, power_readings, selected_runs
--
-- Parameters: runs
--
-- Columns:
--   run_id           VARCHAR         run
--   source           VARCHAR         the tool, or the formats of the files that report it
--   node             VARCHAR         host name, or what the tool says of the machine
--   device           VARCHAR         device as the tool numbers it; several with commas, where the tool adds them up
--   scope            VARCHAR         what the sensor covers
--   method           VARCHAR         how the tool determined it
--   n_devices        BIGINT          devices that `device` lists
--   reported_j       DOUBLE J        energy; NULL where only bounds are known
--   low_j            DOUBLE J        at least
--   high_j           DOUBLE J        at most; NULL where a counter lost what it had counted
--   span_s           DOUBLE s        time that is covered
--   windows          BIGINT          energies that the tool reports
--   begins           TIMESTAMP       begin of the first window; NULL where no times are known
--   ends             TIMESTAMP       end of the last one
--   is_estimated     BOOLEAN         whether all of it is a constant of the tool, not a measurement
--   file_ids         VARCHAR[]       files that report it
--   note             VARCHAR         why there are only bounds, or what else to know
WITH
by_rank AS (SELECT run_id, file_id, line, value AS stated_rank FROM params WHERE key = 'measured_by_rank'),
-- A tool names the rank below its devices or on their line; a rank in the file's name holds for all lines.
reports AS (
    SELECT e.*, CASE WHEN e.method IN ('codecarbon', 'ear', 'mlperf', 'omnistat', 'zeus') THEN e.method
            ELSE coalesce(nullif(array_to_string(formats, ' '), ''), 'a file') END AS source, rank_below.stated_rank AS line_rank, path_rank, any_rank
    FROM energy AS e
    ASOF LEFT JOIN (FROM by_rank WHERE line IS NOT NULL) AS rank_below
        ON rank_below.run_id = e.run_id AND rank_below.file_id = e.file_id AND rank_below.line >= e.line
    LEFT JOIN (
        SELECT run_id, file_id, any_value(stated_rank) FILTER (WHERE line IS NULL) AS path_rank,
            arg_min(stated_rank, line) AS any_rank
        FROM by_rank GROUP BY run_id, file_id) AS r ON r.run_id = e.run_id AND r.file_id = e.file_id
    LEFT JOIN files AS f ON f.file_id = e.file_id
    WHERE energy_j IS NOT NULL AND e.run_id IN (FROM selected_runs(runs := runs))),
of_ranks AS (SELECT *, coalesce(line_rank, path_rank, any_rank) AS of_rank FROM reports),
counted AS (
    SELECT c.run_id, c.node, c.device, c.scope, min(stated_rank) AS counted_rank
    FROM (SELECT DISTINCT run_id, file_id, node, device, scope FROM power_readings(runs := runs)) AS c
    JOIN by_rank AS r ON r.run_id = c.run_id AND r.file_id = c.file_id
    GROUP BY ALL),
chosen AS (
    SELECT r.run_id, r.source, r.node, r.device, r.scope, r.method, arg_max(of_rank, {
            'is_counted': coalesce(of_rank = counted_rank, false), 'extent': coalesce(span_s, joules), 'rank': of_rank
        }) AS chosen_rank
    FROM (
        SELECT run_id, source, node, device, scope, method, of_rank, sum(span_s ORDER BY line) AS span_s,
            sum(energy_j ORDER BY line) AS joules
        FROM of_ranks WHERE of_rank IS NOT NULL GROUP BY ALL) AS r
    LEFT JOIN counted AS c ON c.run_id = r.run_id AND c.node IS NOT DISTINCT FROM r.node
        AND c.device IS NOT DISTINCT FROM r.device AND c.scope IS NOT DISTINCT FROM r.scope
    GROUP BY r.run_id, r.source, r.node, r.device, r.scope, r.method),
kept AS (
    SELECT r.*, epoch_ns(ts) AS ends_ns, ends_ns - (span_s * 1e9)::BIGINT AS begins_ns,
        CASE WHEN span_s IS NULL OR ts IS NULL 
            THEN concat_ws(' ', 'no time', energy_j, span_s, CASE WHEN r.method = 'table' THEN r.line END)
            WHEN ts_origin = 'relative' THEN 'relative ' || r.file_id ELSE ts_origin END AS clock
    FROM of_ranks AS r LEFT JOIN chosen AS c ON c.run_id = r.run_id AND c.source = r.source
        AND c.node IS NOT DISTINCT FROM r.node
        AND c.device IS NOT DISTINCT FROM r.device AND c.scope IS NOT DISTINCT FROM r.scope
        AND c.method IS NOT DISTINCT FROM r.method
    WHERE chosen_rank IS NULL OR of_rank = chosen_rank),
of_clocks AS (
    SELECT run_id, source, node, device, scope, method, clock, count(*) AS windows, list(DISTINCT file_id) AS file_ids,
        CASE WHEN starts_with(clock, 'no time')
            THEN {'low_j': any_value(energy_j), 'high_j': any_value(energy_j), 'span_s': any_value(span_s),
                'relation': 'no times'}
            ELSE covered(list(begins_ns ORDER BY file_id, line), list(ends_ns ORDER BY file_id, line),
                list(energy_j ORDER BY file_id, line)) END AS w,
        min(begins_ns) FILTER (WHERE ts_origin <> 'relative') AS begins_ns,
        max(ends_ns) FILTER (WHERE ts_origin <> 'relative') AS ends_ns,
        bool_and(flag IS NOT DISTINCT FROM 'estimated') AS is_estimated,
        bool_or(flag IS NOT DISTINCT FROM 'reset') AS is_reset
    FROM kept GROUP BY run_id, source, node, device, scope, method, clock),
sums AS (
    SELECT run_id, source, node, device, scope, method, count(*) AS clocks, sum(windows)::BIGINT AS windows,
        list_sort(list_distinct(flatten(list(file_ids)))) AS file_ids,
        max(w.low_j) AS low_j, sum(w.high_j ORDER BY clock) AS high_j,
        CASE count(*) WHEN 1 THEN any_value(w.span_s) ELSE max(w.span_s) END AS span_s,
        any_value(w.relation) AS relation, min(begins_ns) AS begins_ns, max(ends_ns) AS ends_ns,
        bool_and(is_estimated) AS is_estimated, bool_or(is_reset) AS is_reset
    FROM of_clocks GROUP BY run_id, source, node, device, scope, method)
SELECT run_id, source,
    node, device, scope, method, coalesce(len(string_split(device, ',')), 1) AS n_devices,
    CASE WHEN high_j - low_j <= 1e-9 * high_j THEN high_j END AS reported_j, low_j,
    CASE WHEN NOT is_reset THEN high_j END AS high_j, span_s, windows, make_timestamp(begins_ns // 1000) AS begins,
    make_timestamp(ends_ns // 1000) AS ends, is_estimated, file_ids,
    notes([
        CASE WHEN high_j - low_j > 1e-9 * high_j THEN format('from {:.6g} to {:.6g} J: ', low_j, high_j)
            || CASE WHEN clocks > 1 THEN 'nothing says whether its energies follow each other or are the same'
                WHEN relation = 'contradictory' THEN 'windows within another do not add up to it'
                ELSE 'windows overlap in part' END END,
        CASE WHEN is_reset THEN 'at least: a counter began anew, and lost what it had counted' END]) AS note
FROM sums
ORDER BY run_id, source, node, device, scope, method
