"""D1 as a database engine."""
