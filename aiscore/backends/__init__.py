"""One file beside base.py is one backend."""
