"""GNMT-Translation: eight LSTM layers each way, attention, greedy decoding (arXiv:1609.08144).

Words are looked up on the host, as part of a pass (workloads/words.py); the network
goes from ids of source words to ids of target words.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import keras
import numpy as np
from keras import layers, ops

from workloads.blocks import (
    Tensor,
    argmax,
    checked_positive,
    generate,
    lstm_step,
    read,
    rows,
    scan,
    uniform,
)
from workloads.words import END, START, WORDS

UNITS = 1024
DEPTH = 8

Weights = tuple[Any, Any]  # kernel and bias of an LSTM
State = tuple[Tensor, ...]  # cell and hidden of one LSTM after the other, (1, 1024) each


def build() -> keras.Model:
    """Ids (1, words) to the ids of at most twice as many words, (translated words, 1)."""
    ids = keras.Input(batch_shape=(1, None), dtype="int32")
    return keras.Model(ids, Decoder()([ids, *Encoder()(ids)]))


class Encoder(layers.Layer):
    """One LSTM layer in both directions, then seven upwards, residual from the second on."""

    def build(self, ids_shape: Sequence[Any]) -> None:
        """Word vectors and the kernels of nine LSTMs."""
        self.words = _matrix(self, WORDS, UNITS)
        self.first_to_last = _lstm(self, UNITS)
        self.last_to_first = _lstm(self, UNITS)
        self.upper = [_lstm(self, 2 * UNITS), *(_lstm(self, UNITS) for _ in range(DEPTH - 2))]

    def call(self, ids: Tensor) -> tuple[Tensor, ...]:
        """Outputs (words, 1, 1024); last states of the backward LSTM and of the seven above."""
        lengths = _lengths(ids)
        words = rows(self.words, ops.transpose(ids))
        forward, _ = _run([self.first_to_last], words, lengths)
        backward, state = _run([self.last_to_first], ops.flip(words, 0), lengths)
        both = ops.concatenate([forward, ops.flip(backward, 0)], axis=-1)
        outputs, upper_state = _run(self.upper, both, lengths)
        return (outputs, *state, *upper_state)

    def compute_output_spec(self, ids: Any) -> tuple[keras.KerasTensor, ...]:
        """The outputs and sixteen vectors."""
        vectors = (keras.KerasTensor((1, UNITS)) for _ in range(2 * DEPTH))
        return (keras.KerasTensor((None, 1, UNITS)), *vectors)


def _run(lstms: Sequence[Weights], inputs: Tensor, lengths: Tensor) -> tuple[Tensor, State]:
    lstms = _read(lstms)

    def step(x: Tensor, state: State) -> tuple[Tensor, State]:
        states: list[Tensor] = []
        for weights, own in zip(lstms, _pairs(state), strict=True):
            y, own = lstm_step(x, own, *weights)
            x = x + y if states else y
            states += own
        return x, tuple(states)

    return scan(step, inputs, (ops.zeros((1, UNITS), inputs.dtype),) * 2 * len(lstms), lengths)


class Decoder(layers.Layer):
    """Eight LSTM layers, of which the first asks the attention; the others see its answer."""

    def build(self, shapes: Sequence[Any]) -> None:
        """Word vectors, attention, the kernels of eight LSTMs, the projection to words."""
        self.words = _matrix(self, WORDS, UNITS)
        self.memory_kernel = _matrix(self, UNITS, UNITS)
        self.query_kernel = _matrix(self, UNITS, UNITS)
        self.score = _matrix(self, UNITS)
        self.score_bias = self.add_weight(shape=(UNITS,), initializer="zeros")
        self.score_norm = self.add_weight(
            shape=(), initializer=keras.initializers.Constant(UNITS**-0.5)
        )
        self.lstms = [_lstm(self, 2 * UNITS) for _ in range(DEPTH)]
        self.projection = self.add_weight(shape=(UNITS, WORDS), initializer=_never_ends)

    def call(self, inputs: Sequence[Tensor]) -> Tensor:
        """The most probable word after the ones before, until the end mark or twice the length."""
        source, encoded, *state = inputs
        attend = self._attention(ops.transpose(encoded, (1, 0, 2)), _lengths(source))
        words, projection = read(self.words), read(self.projection)
        first, *others = _read(self.lstms)
        start = rows(words, ops.full((1,), START, "int32"))

        def step(state: State) -> tuple[Tensor, Tensor, State]:
            word, context, *states = state
            own, *upper = _pairs(states)
            joined = ops.concatenate([word, context], axis=-1)
            x, (*new_states,) = lstm_step(joined, own, *first)
            context = attend(x)
            for depth, (weights, own) in enumerate(zip(others, upper, strict=True)):
                joined = ops.concatenate([x, context], axis=-1)
                y, own = lstm_step(joined, own, *weights)
                # The original cuts the residual out of the joined vector.
                x = ops.split(joined, 2, axis=-1)[0] + y if depth else y
                new_states += own
            ids = argmax(ops.matmul(x, projection))
            ended = ops.equal(ids, END)
            word = ops.cond(ops.all(ended), lambda: start, lambda: rows(words, ids))
            return ids, ended, (word, context, *new_states)

        context = ops.zeros((1, UNITS), words.dtype)
        return generate(step, (start, context, *state), 2 * ops.shape(source)[1])

    def compute_output_spec(self, inputs: Any) -> keras.KerasTensor:
        """Ids of words."""
        return keras.KerasTensor((None, 1), "int32")

    def _attention(self, memory: Tensor, lengths: Tensor) -> Callable[[Tensor], Tensor]:
        """Normalised additive attention (arXiv:1409.0473): from a query (1, 1024) to a context.

        The memory is (1, words, 1024); what lies beyond a sentence's length is not seen.
        """

        def in_sentence(lengths: Tensor) -> Tensor:
            return ops.arange(ops.shape(memory)[1], dtype="int32") < ops.expand_dims(lengths, -1)

        values = memory * ops.expand_dims(ops.cast(in_sentence(lengths), memory.dtype), -1)
        keys = ops.tensordot(values, read(self.memory_kernel), 1)
        query_kernel, vector = read(self.query_kernel), read(self.score)
        bias, norm = read(self.score_bias), read(self.score_norm)

        def attend(query: Tensor) -> Tensor:
            query = ops.expand_dims(ops.matmul(query, query_kernel), 1)
            unit = norm * vector * ops.rsqrt(ops.sum(ops.square(vector)))
            scores = ops.sum(unit * ops.tanh(keys + query + bias), axis=2)
            seen = in_sentence(checked_positive(lengths))  # in every step, as in the original
            scores = ops.where(seen, scores, -np.inf * ops.ones_like(scores))
            weights = ops.expand_dims(ops.softmax(scores), 1)
            return ops.squeeze(ops.matmul(weights, values), 1)

        return attend


def _lengths(ids: Tensor) -> Tensor:
    """The number of words of the one sentence, (1)."""
    return ops.expand_dims(ops.size(ids), 0)


def _pairs(state: Sequence[Tensor]) -> Iterator[tuple[Tensor, Tensor]]:
    return zip(state[::2], state[1::2], strict=True)


def _read(lstms: Sequence[Weights]) -> list[Weights]:
    """Their values, read before a loop, so that the loop itself stays free of state."""
    return [(read(kernel), read(bias)) for kernel, bias in lstms]


def _lstm(layer: layers.Layer, inputs: int) -> Weights:
    kernel = _matrix(layer, inputs + UNITS, 4 * UNITS)
    return kernel, layer.add_weight(shape=(4 * UNITS,), initializer="zeros")


def _matrix(layer: layers.Layer, *shape: int) -> Any:
    return layer.add_weight(shape=shape, initializer=_uniform)


def _uniform(shape: Sequence[int], dtype: str | None = None) -> Tensor:
    return uniform(shape, 0.1)


def _never_ends(shape: tuple[int, int], dtype: str) -> Tensor:
    """A projection that gives the end mark zero, so that random weights never choose it.

    All steps are measured then. In the original the end mark is merely one of
    32,316 words, which comes as good as never.
    """
    return ops.where(ops.arange(WORDS) == END, 0.0, _uniform(shape))
