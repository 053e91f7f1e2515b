"""Which values of a row others imply, in arrays: a bit for every value that is implied by some.

There may be thousands of pairs of attributes of which one implies the other (covtype: 1,854), and
comparing a row's codes for each takes longer than scoring it. So the bits of what a row's values
imply are put together, attribute by attribute, and those of what its values are: what both have is
dropped. Attributes of few values share a table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.engines.limits import Limits
from sqlbn.engines.packing import strides

Array = npt.NDArray[Any]
_WORD = 8 * np.dtype(np.uint64).itemsize


@dataclass(frozen=True)
class _Table:
    """The bits that the codes of some attributes imply, and then those that they are."""

    attributes: tuple[int, ...]
    radices: tuple[int, ...]
    bits: Array


@dataclass(frozen=True)
class ImpliedBlock:
    """Some attributes that may be implied, each with the word and bits of its values."""

    tables: tuple[_Table, ...]
    masks: Mapping[int, Sequence[tuple[int, np.uint64]]]
    words: int

    def dropped(self, codes: Array) -> dict[int, Array]:
        """The rows in which each attribute is dropped; codes are (attributes, rows)."""
        bits = np.zeros((codes.shape[1], 2 * self.words), np.uint64)
        for table in self.tables:
            key = np.zeros(codes.shape[1], np.intp)
            for v, step in zip(table.attributes, strides(table.radices), strict=True):
                key += codes[v].astype(np.intp) * step
            bits |= np.take(table.bits, key, axis=0, mode="clip")
        both = np.ascontiguousarray((bits[:, : self.words] & bits[:, self.words :]).T)
        return {
            v: np.logical_or.reduce([both[word] & mask != 0 for word, mask in masks])
            for v, masks in self.masks.items()
        }


def blocks_of(
    implied: Mapping[int, Mapping[int, Array]], radices: Sequence[int], limits: Limits
) -> tuple[ImpliedBlock, ...]:
    """The attributes that may be implied, in blocks of few words.

    `implied` has for each attribute the codes of others that its codes imply.
    """
    codes: dict[int, set[int]] = {}
    for generals in implied.values():
        for general, said in generals.items():
            # What is no code of the attribute stands for nothing implied.
            codes.setdefault(general, set()).update(said[said < radices[general]].tolist())
    blocks: list[dict[int, list[int]]] = []
    for general, values in sorted(codes.items()):
        n = sum(map(len, blocks[-1].values())) if blocks else 0
        if not blocks or n + len(values) > limits.average_implied_bits:
            blocks.append({})
        blocks[-1][general] = sorted(values)
    return tuple(_block(block, implied, radices, limits) for block in blocks)


def _block(
    generals: Mapping[int, Sequence[int]],
    implied: Mapping[int, Mapping[int, Array]],
    radices: Sequence[int],
    limits: Limits,
) -> ImpliedBlock:
    place, masks = dict[tuple[int, int], int](), dict[int, list[tuple[int, np.uint64]]]()
    for general, values in generals.items():
        by_word: dict[int, int] = {}
        for code in values:
            place[general, code] = len(place)
            word, bit = divmod(place[general, code], _WORD)
            by_word[word] = by_word.get(word, 0) | 1 << bit
        masks[general] = [(word, np.uint64(mask)) for word, mask in by_word.items()]
    words = -(-len(place) // _WORD)
    specials = {v for v, others in implied.items() if not generals.keys().isdisjoint(others)}
    tables: list[_Table] = []
    for v in sorted(specials | generals.keys(), key=lambda v: radices[v]):
        bits = np.zeros((radices[v], 2 * words), np.uint64)
        for general, said in implied.get(v, {}).items():
            for seen in np.flatnonzero(said < radices[general]) if general in generals else ():
                _set(bits, int(seen), place[general, int(said[seen])])
        for code in generals.get(v, ()):
            _set(bits, code, place[v, code] + words * _WORD)
        last = tables[-1] if tables else None
        if last is not None and len(last.bits) * radices[v] <= limits.average_implied_keys:
            joint = last.bits[:, None] | bits[None]
            joint = joint.reshape(-1, bits.shape[1])
            tables[-1] = _Table((*last.attributes, v), (*last.radices, radices[v]), joint)
        else:
            tables.append(_Table((v,), (radices[v],), bits))
    return ImpliedBlock(tuple(tables), masks, words)


def _set(bits: Array, row: int, place: int) -> None:
    word, bit = divmod(place, _WORD)
    bits[row, word] |= np.uint64(1 << bit)
