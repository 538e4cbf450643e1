"""How good is this card for deep learning? aiscore measures it."""

__version__ = "0.1.0"
