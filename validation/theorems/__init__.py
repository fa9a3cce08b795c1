"""Validation: theorems; the scripts in the order of the report."""

SCRIPTS: tuple[str, ...] = (
    "kinks.theorem_3_1",
    "stability.theorem_3_2",
    "theorem_3_3",
    "kinks.remark_3_4",
    "kernels.form_b",
    "concentration.theorem_3_5",
    "extremals.proposition_3_7_maximisers",
    "extremals.proposition_3_7_minimiser",
    "lemma_5_1",
    "kinks.remark_5_4",
    "stability.remark_5_6",
    "kernels.proposition_6_1",
)
