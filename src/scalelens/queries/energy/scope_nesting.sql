-- The catalog of scopes: which scope is inside which.
--
-- Answers: Which energies are parts of another and must not be added to it?
--   A GPU is a part of its module, a CPU of its Grace, everything of its node.  What a tool calls a total, and a board's
--   input rail, hold what the same file measures next to them.  `other` is a sensor of which nothing says what it covers:
--   it is a part of its file's total, and of its node.  No other query says what nests.
--
-- Helper: used by energy_integrated and reported_energy
--
-- Sources: -
--
-- Columns:
--   scope        VARCHAR    the inner one
--   outside      VARCHAR    the scope that contains it
--   position     INTEGER    order of those that hold it, from the inside out
--   same_file    BOOLEAN    whether it contains only what the same file measures: a card's board does not contain the host's
--                           CPU, a Jetson's does
SELECT unnest(string_split(inside, ' ')) AS scope, outside, position,
    outside IN ('platform', 'board', 'total') AND scope <> 'ipu' AS same_file
FROM (VALUES
    ('gpu_part', 'gpu', 1),
    ('cpu_part', 'cpu', 1),
    ('cpu cpu_part sysio', 'grace', 2),
    ('gcd', 'oam', 2),
    ('gpu gpu_part grace cpu cpu_part sysio', 'module', 3),
    ('cpu cpu_part memory sysio', 'platform', 4),
    ('gpu gpu_part module gcd oam grace cpu cpu_part memory sysio ipu platform', 'board', 5),
    ('gpu gpu_part module gcd oam grace cpu cpu_part memory sysio ipu platform board other', 'total', 6),
    ('gpu gpu_part module gcd oam grace cpu cpu_part memory sysio ipu platform board other total', 'node_dc', 7),
    ('gpu gpu_part module gcd oam grace cpu cpu_part memory sysio ipu platform board other total node_dc', 'node_ac', 8)
) AS nesting(inside, outside, position)
ORDER BY scope, position
