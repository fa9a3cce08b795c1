"""Validation: theorems; the scripts in the order of the report."""

SCRIPTS: tuple[str, ...] = (
    "theorem_3_1",
    "theorem_3_2",
    "theorem_3_3",
    "theorem_3_4",
    "theorem_3_5",
    "counts_3_6",
    "theorem_3_7_maximisers",
    "theorem_3_7_minimiser",
    "lemma_5_1",
    "lemma_5_3",
    "remark_5_6",
    "proposition_6_1",
)
