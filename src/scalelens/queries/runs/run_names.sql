-- The name of each run: what people see in tables, charts and messages, and may write wherever a run is named.
--
-- Answers: What are the runs called, and which id has each?
--   A name begins with that of the run's file or folder, or with its model where these tell nothing (slurm-3665238,
--   log).  Runs that share it get what tells them apart, in this order: precision, data set, system, device, nodes,
--   devices, batch, sequence, parallelism, framework, model; then the job, a folder, the file, its part; the id last.  Where a
--   log states what the trackers beside it do not, the framework stands alone.  Where more than 40 letters do not tell
--   runs apart and each has a job of its own, the job stands instead of them.  A file's name that holds the run's own
--   stands for it.
--   A name of more than 60 letters is shortened to what tells it from others of such a length, with … for the rest.
--   A name that was shown once still means its runs when others came: any of a run's words in their order name it, and
--   `two_sides` lists the runs that a text fits.
--
-- Sources: runs
--
-- Columns:
--   run_id    VARCHAR      run
--   name      VARCHAR      its name, which no other run has
--   words     VARCHAR[]    all that a name of the run may have, in order
--   path      VARCHAR      its first file
--
-- Glance: name run_id path
WITH
called AS (
    SELECT *, if(ends_with(r.name, ' ' || part), r.name[:-length(part) - 2], coalesce(r.name, run_id)) AS own
    FROM (
        SELECT *, '(' || (1 + nullif(regexp_extract(run_id, '-(\d+)$', 1), '')::INTEGER) || ')' AS part FROM runs) AS r),
-- Of long names the pieces that are not the same in all, at most 60 letters of them.
long AS (
    SELECT run_id, own, regexp_extract_all(own, '[^\s_/,;]+[\s_/,;]*') AS pieces FROM called WHERE length(own) > 60),
pieces_of AS (SELECT run_id, own, k, pieces[k] AS piece FROM long, range(1, 60) AS t(k) WHERE k <= len(pieces)),
alike_pieces AS (
    SELECT k FROM pieces_of GROUP BY k HAVING count(DISTINCT piece) = 1 AND count(*) = (SELECT count(*) FROM long)),
differing AS (
    SELECT run_id, own, regexp_replace(string_agg(if(k IN (FROM alike_pieces), '…', piece), '' ORDER BY k),
        '[\s_/,;]*…[…\s_/,;]*', '…', 'g') AS rest
    FROM pieces_of GROUP BY run_id, own),
shortened AS (
    SELECT run_id, CASE WHEN rest = '…' THEN left(own, 59) || '…' WHEN length(rest) > 60 THEN left(rest, 59) || '…'
        ELSE rest END AS short
    FROM differing),
described AS (
    SELECT run_id, model, path, own AS called, coalesce(short, own) AS name,
        [precision, dataset, system, device_model, nodes || if(nodes = 1, ' node', ' nodes'),
         devices || ' ' || lower(coalesce(device_unit, 'device')) || if(devices = 1, '', 's'), 'batch ' || global_batch_size,
         'micro-batch ' || micro_batch_size, 'seq ' || seq_length, 'tp' || tp, 'pp' || pp, 'dp' || dp, 'cp' || cp,
         framework, if(contains(lower(called.own), lower(model)), NULL, model)] AS facts,
        'job ' || job_id AS job, coalesce(string_split(path, '/')[2:-2], []) AS folders, part
    FROM called LEFT JOIN shortened USING (run_id)),
-- A fact tells runs of one name apart if with it they begin in more ways than before.
beginnings AS (
    SELECT run_id, name, k, facts[k] AS fact, facts[:k] AS beginning
    FROM (FROM described QUALIFY count(*) OVER (PARTITION BY name) > 1), range(1, 16) AS t(k)),
telling AS (
    SELECT name, k FROM (SELECT name, k, count(DISTINCT beginning) AS n_beginnings FROM beginnings GROUP BY name, k)
    QUALIFY n_beginnings > lag(n_beginnings, 1, 1) OVER (PARTITION BY name ORDER BY k)),
-- A log and the TensorBoard of one training state different facts, which do not make them two trainings: there the name
-- of the framework is shorter, if it tells as many apart.
of_writers AS (
    SELECT name FROM beginnings JOIN (SELECT name, min(k) AS first FROM telling GROUP BY name) USING (name)
    GROUP BY name
    HAVING count(DISTINCT coalesce(fact, '')) FILTER (k = 14) = count(DISTINCT beginning) FILTER (k = 14)
        AND count(fact) FILTER (k = first) < count(DISTINCT run_id)),
told AS (
    SELECT run_id, string_agg(fact, ' ' ORDER BY k) AS facts
    FROM beginnings LEFT JOIN telling AS t USING (name, k)
    WHERE if(name IN (FROM of_writers), k = 14, t.k IS NOT NULL) GROUP BY run_id),
by_facts AS (
    SELECT d.* EXCLUDE (name), concat_ws(' ', name, t.facts) AS name, name AS own, d.facts AS known
    FROM described AS d LEFT JOIN told AS t USING (run_id)),
-- A job that sets all of its runs apart stands for many facts that do not.
by_job AS (
    SELECT * REPLACE (CASE WHEN count(DISTINCT job) OVER (PARTITION BY name) <= 1 THEN name
        WHEN length(name) > 40 AND count(*) OVER (PARTITION BY own, job) = 1 THEN concat_ws(' ', own, job)
        ELSE concat_ws(' ', name, job) END AS name)
    FROM by_facts),
-- Of runs that still share a name, the folders in which their paths differ, as far as each tells more of them apart.
shared AS (FROM by_job QUALIFY count(*) OVER (PARTITION BY name) > 1),
levels AS (
    SELECT name, k FROM (
        SELECT name, k, count(DISTINCT folders[:k]) AS n_beginnings FROM shared, range(1, 60) AS t(k) GROUP BY name, k)
    QUALIFY n_beginnings > lag(n_beginnings, 1, 1) OVER (PARTITION BY name ORDER BY k)),
told_by_folder AS (
    SELECT run_id, string_agg(folders[k], ' ' ORDER BY k) AS folder FROM shared JOIN levels USING (name) GROUP BY run_id),
by_folder AS (
    SELECT j.* EXCLUDE (name), concat_ws(' ', name, folder) AS name FROM by_job AS j LEFT JOIN told_by_folder USING (run_id)),
-- Then their files' names, which told nothing by themselves (trace_3, ckpt500), where no two are the same; without the
-- last suffix alone where only the others tell them apart (cg.A.1.power.txt, cg.A.2.power.txt); whole where only the
-- last does (job952.log, job952.out).  TensorBoard's files are named by the second in which they began, in UTC, traces
-- of PyTorch by that in which they were written.
by_file AS (
    SELECT * EXCLUDE (stem, whole), if(count(*) OVER alike = 1, NULL,
        if(count(DISTINCT short) OVER alike = count(*) OVER alike, short,
        if(count(DISTINCT stem) OVER alike = count(*) OVER alike, stem,
        if(count(DISTINCT whole) OVER alike = count(*) OVER alike, whole, NULL)))) AS file
    FROM (
        SELECT *, coalesce(
                strftime(make_timestamp(1000000 * try_cast(coalesce(
                    nullif(regexp_extract(path, '\btfevents\.(\d{10})\.[^/]*$', 1), ''),
                    regexp_extract(path, '\.(\d{10})(\d{3}){1,3}\.pt\.trace\.json[^/]*$', 1)) AS BIGINT)), '%Y%m%d-%H%M%S'),
                nullif(regexp_extract(path, '([^/]+?)(\.[A-Za-z]\w{0,8}){0,3}$', 1), own)) AS short,
            nullif(regexp_extract(path, '([^/]+?)(\.[A-Za-z]\w{0,8})?(\.(gz|zst|xz|bz2))?$', 1), own) AS stem,
            nullif(regexp_extract(path, '[^/]+$'), own) AS whole
        FROM by_folder)
    WINDOW alike AS (PARTITION BY name)),
-- A file's name in which the run's own is a word stands for it, and for the model if it names that too.
with_file AS (
    SELECT * REPLACE (CASE WHEN file IS NULL THEN name
        WHEN starts_with(file, own || '.') THEN file || name[length(own) + 1:]
        WHEN regexp_matches(file, '(?i)(^|[._-])' || regexp_escape(own) || '([._-]|$)') THEN file || if(
            contains(lower(file), lower(model)),
            regexp_replace(name[length(own) + 1:], ' ' || regexp_escape(model) || '( |$)', '\1'), name[length(own) + 1:])
        ELSE concat_ws(' ', name, file) END AS name)
    FROM by_file),
by_part AS (
    SELECT * REPLACE (if(count(*) OVER (PARTITION BY name) > 1, concat_ws(' ', name, part), name) AS name)
    FROM with_file),
-- As many characters of the ids as tell all apart that need one, at least four.
alike AS (FROM by_part QUALIFY count(*) OVER (PARTITION BY name) > 1),
lengths AS (
    SELECT min(k) AS k FROM (
        SELECT k FROM alike, range(4, 25) AS t(k) GROUP BY k HAVING count(DISTINCT left(run_id, k)) = count(*)))
SELECT run_id,
    if(run_id IN (SELECT run_id FROM alike), name || ' ' || left(run_id, (SELECT k FROM lengths)), name) AS name,
    list_filter([called, nullif(own, called), coalesce(file, short), nullif(model, called)] || known || [job] || folders || [file, part], lambda word: word <> '') AS words, path
FROM by_part
ORDER BY run_id
