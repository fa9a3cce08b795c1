"""Settings files: each section checked, and what they build."""
