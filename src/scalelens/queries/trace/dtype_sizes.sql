-- Bytes of an element, by the names that traces use for types.
--
-- Answers: How large is an element of this dtype?
--   Names in lower case: those of PyTorch's collectives (`BFloat16`) and those of its operators (`c10::BFloat16`).
--
-- Helper: used by collective_calls and op_work
--
-- Sources: -
--
-- Columns:
--   dtype            VARCHAR         name, in lower case
--   element_bytes    BIGINT bytes    size of an element
SELECT unnest(string_split(names, ', ')) AS dtype, element_bytes::BIGINT AS element_bytes
FROM (VALUES
    ('bool, byte, char, signed char, unsigned char, int8, uint8, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, '
        || 'float8_e5m2fnuz, c10::float8_e4m3fn, c10::float8_e5m2, c10::float8_e4m3fnuz, c10::float8_e5m2fnuz', 1),
    ('half, bfloat16, short, short int, uint16, c10::half, c10::bfloat16', 2),
    ('float, int, uint32, unsigned int, complexhalf, c10::complex<c10::half>', 4),
    ('double, long, long int, unsigned long, uint64, complexfloat, c10::complex<float>', 8),
    ('complexdouble, c10::complex<double>', 16)) AS sizes(names, element_bytes)
ORDER BY element_bytes, dtype
