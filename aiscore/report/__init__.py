"""Results as tables, for people and for files."""
