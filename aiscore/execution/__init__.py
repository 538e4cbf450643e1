"""From a plan through worker processes to a result."""
