"""Data that travels with the package."""
