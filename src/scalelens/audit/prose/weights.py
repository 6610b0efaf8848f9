"""What each feature of `Likeness` weighs, by slip and digits, and how much must be shown.

Fitted on 4,400 numbers that stand twice or three times in 2,095 documents of 59 public repositories, after a slip in
one of them, against all pairs of these documents that differ by such a slip.  The limits lie above what such pairs show
to weights that were fitted without their repository.  Powers of ten of four digits have no such pair.
"""

POINT, SWAPPED, DIGIT = "it is off by a factor of ten", "two digits are swapped", "one digit differs"
SENTENCES, MIXED, TABLES = "two sentences", "a sentence and a table", "two tables"
WEIGHTS = {
    (POINT, 3): (
        5.56, 0.933, 0.726, -0.251, 0.246, 0.402, 0.32, 0.0, -0.578, 0.225, 1.0, -0.972,
        0.0, 0.117, 0.0, 0.632, 0.0, 0.691, 0.461, 0.403, 0.546, 0.00128, 1.27, 0.592,
        0.25, 1.92, 0.509, 1.16, 2.42, 0.105, -0.222, -1.19, 0.0, 0.0, 0.832, 0.0,
        0.633, 3.44, 0.261, -1.65, 0.334, -0.234, -0.229, -0.949, 0.225, 0.225, 1.0, 0.0,
        -0.0892, -0.0401, 0.173, 0.172,
    ),
    (SWAPPED, 3): (
        8.38, 0.79, 1.38, 0.0162, 0.774, -0.454, -0.95, -0.839, -0.6, 0.547, 0.227, -1.42,
        -1.12, 0.126, 0.0, 1.34, 0.576, -1.04, -0.212, 0.19, 0.34, 1.0, 0.852, 0.566,
        -0.168, 1.3, 0.383, 0.0184, -0.427, -1.45, -0.198, 0.0, 0.0, -0.847, -0.208, 0.839,
        -1.61, -0.393, -0.671, -0.756, -0.259, 0.11, -0.448, -0.537, 0.00708, 0.547, 0.227, 0.0,
        1.4, -0.0623, -0.352, 0.0243,
    ),
    (SWAPPED, 4): (
        9.64, 0.797, 0.481, -0.191, 0.334, 0.802, -0.556, 0.519, -0.575, -0.259, 0.247, -1.28,
        1.85, 1.09, 0.954, 0.917, 0.0466, -2.04, 0.198, 0.159, -0.0954, -0.651, 1.89, 0.419,
        0.176, 1.06, 0.896, 0.204, 1.26, 0.473, -0.0817, 0.0, 0.0, -0.784, 0.499, -0.519,
        1.12, -0.0162, -0.728, -0.0709, 1.41, -0.748, -0.108, -0.116, 0.0213, -0.259, 0.247, 0.0,
        -0.678, -0.113, 0.312, 0.0379,
    ),
    (DIGIT, 3): (
        1.19, 0.729, 1.05, -0.128, 0.233, 0.893, -0.29, -0.703, -0.426, 0.678, -0.0529, -0.563,
        -1.51, 0.313, 0.0, 0.875, 0.0797, 0.375, -0.447, -0.251, 0.87, -0.0919, 0.513, 0.339,
        0.167, 1.29, 0.296, -0.692, -0.96, -0.474, 0.0369, -0.355, 0.0, 0.0116, -0.285, 0.703,
        -0.384, 0.256, -0.755, -0.681, -0.716, 0.384, -0.293, -0.564, 0.401, 0.678, -0.0529, 0.0,
        0.629, -0.134, -0.47, -0.0475,
    ),
    (DIGIT, 4): (
        1.92, 0.79, 1.11, -0.145, 0.281, 1.39, -0.212, 0.18, -0.316, 0.424, 0.5, -0.0122,
        0.267, 0.116, 0.51, 1.81, 0.0663, -1.63, -0.11, -0.301, -0.507, 0.37, 0.966, 0.789,
        0.0378, 2.46, 1.48, -0.47, 1.71, -1.85, -0.0798, -0.55, 0.0, 1.06, 0.157, -0.18,
        0.525, 2.13, -0.63, -0.786, -0.072, -0.249, -0.448, -0.525, 0.623, 0.424, 0.5, 0.0,
        2.78, -0.0674, 1.56, -0.2,
    ),
}  # fmt: skip
# From where words and numbers show enough, for three digits and for more.
LIMITS = {
    (POINT, SENTENCES): (6.2, 0.0),
    (POINT, MIXED): (3.6, 0.0),
    (POINT, TABLES): (3.0, 0.0),
    (SWAPPED, SENTENCES): (4.8, 5.4),
    (SWAPPED, MIXED): (3.2, 3.6),
    (SWAPPED, TABLES): (4.0, 3.2),
    (DIGIT, SENTENCES): (5.2, 4.5),
    (DIGIT, MIXED): (4.4, 6.2),
    (DIGIT, TABLES): (3.8, 5.6),
}
IF_GIVEN = 2.0  # so much more is needed of another digit where the numbers around give one of the two as well
IF_SHORT = 2.0  # where one has fewer than six digits, and digits are swapped or the point is elsewhere
IF_DOUBTFUL = 2.0  # where another row fits the sentence better, or each sentence has numbers of its own
IF_ANOTHER = 4.0  # where the sentence has numbers that the table has not, and digits are swapped
IF_ALONE = 3.0  # where two tables have hardly a number in common
