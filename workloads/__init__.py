"""The suite's networks and data: architecture only, no timing, no framework switches."""
