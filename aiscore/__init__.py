"""aiscore: how good is this card for deep learning?"""

__version__ = "0.1.0"
