"""Numbers that the package computes, stored: changes of structure are held to rounding."""
