-- Measured bandwidth of collectives, as nccl-tests and rccl-tests print it.
--
-- Answers: How fast is a collective on its own, for each message size?
--   One row for each size, test and place.  The bus bandwidth can be compared with that of the links.
--
-- Glance: run_id test message_bytes busbw_bytes_per_s algbw_bytes_per_s time_s place dtype redop wrong
--
-- Partition: run_id
--
-- Sources: collective_benchmarks, selected_runs
--
-- Parameters: runs
--
-- Columns:
--   run_id               VARCHAR           run
--   file_id              VARCHAR           file
--   line                 BIGINT            line of the row
--   test                 VARCHAR           what was measured: all_reduce, alltoall, sendrecv, ...
--   message_bytes        BIGINT bytes      bytes of the message, as the test counts them
--   count                BIGINT            elements of the message
--   dtype                VARCHAR           element type
--   redop                VARCHAR           reduction
--   root                 BIGINT            root rank
--   place                VARCHAR           in or out: whether the result overwrites the message
--   time_s               DOUBLE s          time of one operation, mean over the iterations
--   algbw_bytes_per_s    DOUBLE bytes/s    bytes of the message over the time
--   busbw_bytes_per_s    DOUBLE bytes/s    the same, corrected for the collective and the number of ranks
--   wrong                BIGINT            elements with a wrong value; NULL where they were not checked
SELECT run_id, file_id, line, test, message_bytes, count, dtype, redop, root, place, time_s, algbw_bytes_per_s,
    busbw_bytes_per_s, wrong
FROM collective_benchmarks
WHERE trim(runs) = '' OR run_id IN (FROM selected_runs(runs := runs))
ORDER BY run_id, test, place, message_bytes, line
