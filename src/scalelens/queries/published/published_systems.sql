-- Systems that the published documents describe, each cell as a document prints it.
--
-- Answers: What does a node of these systems have, and which document says so?
--   One row for each system of each document.  A cell is empty where that document does not state it; nothing is filled
--   in from other sources.  The vendors' figures for the devices are in devices_catalog.
--
-- Formula: none; a cell is the number as printed, with its unit.
--
-- Limits: Documents may disagree about a system: each has its own row.
--
-- Glance: document system device nodes_of_partition devices_per_node devices_as_counted device_memory node_memory tdp network topology
--
-- Sources: published
--
-- Columns:
--   document              VARCHAR    document that says it
--   part                  VARCHAR    part of the document
--   system                VARCHAR    machine or partition
--   device                VARCHAR    device; NULL for partitions without
--   nodes_of_partition    VARCHAR    nodes of the partition
--   devices_of_system     VARCHAR    devices of the whole machine, as printed
--   devices_per_node      VARCHAR    devices of a node
--   devices_as_counted    VARCHAR    devices of a node as software counts them, where the document says that the number
--                                    differs
--   device_memory         VARCHAR    memory of a device
--   gcd_memory            VARCHAR    memory of a GCD of a device
--   node_memory           VARCHAR    memory of a node, without that of the devices
--   cpus                  VARCHAR    processors of a node and their cores
--   peak_fp16             VARCHAR    dense peak of a device
--   peak_fp32             VARCHAR    dense peak of a device
--   peak_tf32             VARCHAR    dense peak of a device
--   peak_fp64             VARCHAR    dense peak of a device
--   tdp                   VARCHAR    power limit of a device
--   device_link           VARCHAR    bandwidth between devices of a node
--   network               VARCHAR    links of a node
--   topology              VARCHAR    topology of the network
--   sustained             VARCHAR    sustained or peak performance of the machine
WITH
facts AS (
    SELECT split_part(name, '/', 1) AS document, coalesce(system, device) AS of_system, quantity, place, system, device, part,
        concat_ws(' ', printed, CASE WHEN number_unit <> 'count' OR number_unit IS NULL THEN unit END) AS cell, note
    FROM published WHERE split_part(name, '/', 2) IN ('systems', 'partitions', 'accelerators', 'devices'))
SELECT document, first(part ORDER BY place) AS part, first(system ORDER BY place) AS system,
    first(device ORDER BY place) AS device,
    max(cell) FILTER (WHERE quantity = 'nodes_of_partition') AS nodes_of_partition,
    max(cell) FILTER (WHERE quantity = 'devices_of_system') AS devices_of_system,
    max(cell) FILTER (WHERE quantity = 'devices_per_node') AS devices_per_node,
    max(cell) FILTER (WHERE quantity = 'devices_as_counted') AS devices_as_counted,
    string_agg(cell, ' or ' ORDER BY place) FILTER (WHERE quantity IN ('device_memory', 'device_memory_of_other_nodes'))
        AS device_memory,
    max(cell) FILTER (WHERE quantity = 'memory_per_gcd') AS gcd_memory,
    max(cell) FILTER (WHERE quantity = 'node_memory') AS node_memory,
    nullif(concat(max(cell) FILTER (WHERE quantity = 'cpus_per_node') || ' x ', max(cell) FILTER (WHERE quantity = 'cores_per_cpu')
        || ' cores'), '') AS cpus,
    max(cell) FILTER (WHERE quantity = 'peak_fp16') AS peak_fp16,
    max(cell) FILTER (WHERE quantity = 'peak_fp32') AS peak_fp32,
    max(cell) FILTER (WHERE quantity = 'peak_tf32') AS peak_tf32,
    max(cell) FILTER (WHERE quantity = 'peak_fp64') AS peak_fp64,
    max(cell) FILTER (WHERE quantity = 'tdp') AS tdp,
    max(cell) FILTER (WHERE quantity = 'device_link') AS device_link,
    nullif(concat_ws(' ', max(cell) FILTER (WHERE quantity = 'network_links') || ' x',
        max(cell) FILTER (WHERE quantity = 'network_link'),
        max(split_part(note, '; ', 1)) FILTER (WHERE quantity = 'network_link')), '') AS network,
    max(nullif(split_part(note, '; ', 2), '')) FILTER (WHERE quantity = 'network_link') AS topology,
    max(cell) FILTER (WHERE quantity IN ('sustained', 'peak_of_system')) AS sustained
FROM facts
GROUP BY document, of_system
ORDER BY document, min(place)
