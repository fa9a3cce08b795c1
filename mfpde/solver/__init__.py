"""The solver: the equation of a measure repeated in time, step by step."""
