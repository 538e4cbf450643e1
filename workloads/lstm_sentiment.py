"""LSTM-Sentiment: one basic LSTM layer over 1024 steps (doi:10.1162/neco.1997.9.8.1735)."""

import keras
from keras import layers

from workloads.blocks import BasicLSTM, glorot


def build() -> keras.Model:
    """Sequence (1024, 300) to two logits."""
    inputs = keras.Input((1024, 300))
    x = BasicLSTM(1024)(inputs)
    return keras.Model(inputs, layers.Dense(2, kernel_initializer=glorot)(x))
