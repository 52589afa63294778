"""A package with data beside its code."""
