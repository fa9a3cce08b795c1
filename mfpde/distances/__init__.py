"""Methods behind the distances between measures: one for each kind of place."""
