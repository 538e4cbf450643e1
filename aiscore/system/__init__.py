"""The machine and the stack under test."""
