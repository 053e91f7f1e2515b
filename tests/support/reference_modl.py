"""MDL and MODL by brute force in plain Python, to check sqlbn against.

Costs are logarithms of exact whole numbers, optima come from trying every partition.
"""

import heapq
import math
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise

Cell = tuple[int, ...]  # rows by class


def added(cells: Sequence[Cell]) -> Cell:
    return tuple(sum(column) for column in zip(*cells, strict=True))


@cache
def run_cost(cell: Cell) -> float:
    """ln C(N_i + J - 1, J - 1) + ln(N_i! / prod N_ij!)."""
    rows, n_classes = sum(cell), len(cell)
    ways = math.factorial(rows)
    for n in cell:
        ways //= math.factorial(n)
    return math.log(math.comb(rows + n_classes - 1, n_classes - 1)) + math.log(ways)


def intervals_cost(intervals: Sequence[Cell]) -> float:
    rows, number = sum(map(sum, intervals)), len(intervals)
    prior = math.log(rows) + math.log(math.comb(rows + number - 1, number - 1))
    return prior + sum(map(run_cost, intervals))


def partitions_up_to(n: int, most: int) -> int:
    """B(n, most): the sum of Stirling numbers of the second kind, by their recurrence."""
    row = [1] + [0] * most
    for _ in range(n):
        row = [0] + [k * row[k] + row[k - 1] for k in range(1, most + 1)]
    return sum(row)


def groups_cost(groups: Sequence[Cell], n_values: int) -> float:
    prior = math.log(n_values) + math.log(partitions_up_to(n_values, len(groups)))
    return prior + sum(map(run_cost, groups))


def bounds_of_all(n: int) -> Iterator[list[int]]:
    """Inner bounds of every partition of n ordered cells."""
    for mask in range(1 << (n - 1)):
        yield [i + 1 for i in range(n - 1) if mask >> i & 1]


def runs(cells: Sequence[Cell], bounds: Sequence[int]) -> list[Cell]:
    edges = [0, *bounds, len(cells)]
    return [added(cells[a:b]) for a, b in pairwise(edges)]


def best_intervals_cost(cells: Sequence[Cell], missing: Cell | None = None) -> float:
    """The least cost of all partitions; missing rows apart, or everything together."""
    apart = [] if missing is None else [missing]
    null = intervals_cost([added([*cells, *apart])])
    found = (intervals_cost(runs(cells, b) + apart) for b in bounds_of_all(len(cells)))
    return min(null, *found)


def set_partitions(n: int) -> Iterator[list[int]]:
    """The group of each of n things, in every way."""
    labels = [0] * n

    def grown(i: int, used: int) -> Iterator[list[int]]:
        if i == n:
            yield list(labels)
            return
        for label in range(used + 1):
            labels[i] = label
            yield from grown(i + 1, max(used, label + 1))

    yield from grown(0, 0)


def grouped(cells: Sequence[Cell], labels: Sequence[int]) -> list[Cell]:
    return [
        added([c for c, g in zip(cells, labels, strict=True) if g == group])
        for group in sorted(set(labels))
    ]


def best_groups_cost(cells: Sequence[Cell]) -> float:
    return min(groups_cost(grouped(cells, g), len(cells)) for g in set_partitions(len(cells)))


def greedy_intervals_cost(cells: Sequence[Cell]) -> float:
    """Boulle's greedy merge, a pair at a time with a priority queue, down to one interval."""
    n, rows, n_classes = len(cells), sum(map(sum, cells)), len(cells[0])

    def cost(cell: Cell) -> float:
        inside = sum(math.lgamma(c + 1) for c in cell)
        return math.lgamma(sum(cell) + n_classes) - math.lgamma(n_classes) - inside

    def prior(k: int) -> float:
        return math.lgamma(rows + k) - math.lgamma(k) - math.lgamma(rows + 1)

    cell, single = list(cells), [cost(c) for c in cells]
    after, before, version = list(range(1, n + 1)), list(range(-1, n - 1)), [0] * n
    queue: list[tuple[float, int, int, int, int]] = []

    def offer(i: int) -> None:
        j = after[i]
        if j < n:
            rise = cost(added([cell[i], cell[j]])) - single[i] - single[j]
            heapq.heappush(queue, (round(rise, 12), i, version[i], j, version[j]))

    for i in range(n):
        offer(i)
    total, k = sum(single), n
    best = total + prior(k)
    while queue:
        rise, i, vi, j, vj = heapq.heappop(queue)
        if (version[i], version[j]) != (vi, vj):
            continue
        cell[i], single[i] = added([cell[i], cell[j]]), single[i] + single[j] + rise
        version[i], version[j], after[i] = version[i] + 1, -1, after[j]
        if after[i] < n:
            before[after[i]] = i
        offer(i)
        if before[i] >= 0:
            offer(before[i])
        total, k = total + rise, k - 1
        best = min(best, total + prior(k))
    return math.log(rows) + best


def entropy(cell: Cell) -> float:
    rows = sum(cell)
    return -sum(n / rows * math.log2(n / rows) for n in cell if n)


def mdl_bounds(cells: Sequence[Cell], start: int = 0) -> list[int]:
    """Fayyad and Irani, every cut tried."""
    whole = added(cells)
    rows = sum(whole)
    cuts = []
    for at in range(1, len(cells)):
        parts = added(cells[:at]), added(cells[at:])
        left = sum(sum(p) / rows * entropy(p) for p in parts)
        cuts.append((round(left, 12), at, parts))
    if not cuts:
        return []
    left, at, parts = min(cuts)
    k, (k1, k2) = sum(n > 0 for n in whole), (sum(n > 0 for n in p) for p in parts)
    delta = math.log2(3**k - 2) - k * entropy(whole)
    delta += k1 * entropy(parts[0]) + k2 * entropy(parts[1])
    if round(entropy(whole) - left - (math.log2(rows - 1) + delta) / rows, 12) <= 0:
        return []
    lower, upper = mdl_bounds(cells[:at], start), mdl_bounds(cells[at:], start + at)
    return [*lower, start + at, *upper]
