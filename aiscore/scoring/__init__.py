"""From times to scores; plain numbers in and out."""
