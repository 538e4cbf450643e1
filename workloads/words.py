"""The words that the translation network knows, and their numbers. No framework is needed."""

from itertools import islice, product

import numpy as np

from workloads.data import SENTENCE

WORDS = 32_316
UNKNOWN, START, END = range(3)  # ids of the marks


def _vocabulary() -> dict[str, int]:
    """Ids by word: the marks, the words of the sentence, then made words of three syllables."""
    syllables = ["".join(letters) for letters in product("bdfghjklmnprstvz", "aeiou")]
    made = map("".join, product(syllables, repeat=3))
    words = dict.fromkeys(["<unk>", "<s>", "</s>", *SENTENCE.split(), *islice(made, WORDS)])
    return {word: number for number, word in enumerate(islice(words, WORDS))}


VOCABULARY = _vocabulary()


def encode(values: np.ndarray) -> np.ndarray:
    """A text, an array without axes, to the int32 ids of its words, (1, words). Numbers stay."""
    if values.dtype.kind != "U":
        return values
    return np.array([[VOCABULARY.get(word, UNKNOWN) for word in str(values).split()]], np.int32)


def as_float32(values: np.ndarray) -> np.ndarray:
    """A batch's input as a network takes it: float32, or the ids of a text's words."""
    values = encode(values)
    return values.astype(np.float32) if values.dtype.kind == "f" else values
