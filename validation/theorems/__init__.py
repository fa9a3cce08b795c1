"""Validation: theorems; the scripts in the order of the report."""

SCRIPTS: tuple[str, ...] = (
    "theorem_3_1",
    "theorem_3_2",
    "theorem_3_3",
    "remark_3_4",
    "form_b",
    "theorem_3_5",
    "corollary_3_6",
    "proposition_3_7_maximisers",
    "proposition_3_7_minimiser",
    "lemma_5_1",
    "lemma_5_3",
    "remark_5_4",
    "remark_5_6",
    "proposition_6_1",
)
