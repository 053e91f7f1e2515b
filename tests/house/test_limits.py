"""Tuning constants are fields of `Limits`: other numbers at the top of a module have a reason here.

A constant belongs into `engines/limits.py` where it trades time, memory or the accuracy of a plan.
What stays is mathematics, the format of something, or a usual value that a user can change.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "sqlbn"

# Modules and names, by the reason why they are no limits. The lists may only get shorter.
REASONS = {
    "mathematics: the meaning of a figure, or where arithmetic of doubles ends": """
        data/sampling.WORD encoding/discretise/log_factorials._STIRLING
        encoding/discretise/log_factorials._STIRLING_FROM evaluation/metrics.PRECISION_UNIT
        exporting/targets._LEAST_EXPONENT
        kinds/average/average_query.LEAST_SUM kinds/average/average_query._LEVEL_STEP
        kinds/average/average_query._STEP kinds/losses.LEAST_PROBABILITY kinds/losses.TIE
        kinds/product/attribute_weights._MOST kinds/product/level_weights._GAIN
        kinds/product/level_weights._DECIMALS kinds/product/level_weights._REMEMBERED
        kinds/product/level_weights._SHORTEST kinds/product/level_weights._STEPS
        kinds/product/level_weights._WORTH
        kinds/product/seen_chain._CLOSE kinds/product/seen_chain._DIGITS
        networks/network.ROUNDING networks/network._EXACT
        networks/stored_networks._ROUNDING search/contest.UNSEEN_FACTOR
        search/hill_climbing._LEAST_GAIN structure/information.DECIMALS
        structure/variable_selection.MAX_ITERATIONS
        updates/stream.RECENT updates/stream.WIDTH updates/stream._FEW""",
    "a format, a protocol, or a number that stands for something": """
        data/remote._NO_HEAD data/spark_tables._ROWS_A_FILE engines/settings._MOST_BYTES
        engines/spark/spark_session._CONNECT_PORT exporting/document.VERSION exporting/pmml._DAY
        exporting/script._PREFIX_BYTES kinds/average/average_loo_tables.NO_COUNT
        kinds/average/superparents._NO_CODE kinds/sparse/sparse_families.UNSEEN
        networks/following._NO_LIMIT
        lab/comparators._HGB_CATEGORIES networks/inference._MOST_AXES
        networks/random_networks.CHUNK options/user_values._MOST
        store/condition.HEADERS store/history._PLACE store/history._PLACES store/history._SAMPLE
        store/meta.FORMAT""",
    "the usual value of an option": """
        encoding/learn_codebooks.DEFAULT_BINS learners/ande.MIN_COUNT search/bounds.BLOCK
        search/bounds.DELTA search/bounds.TAU""",
    "how much is printed or drawn": """
        cli/commands/column_commands._DRAWN cli/commands/column_commands._MOST_CLASSES
        cli/commands/column_commands._MOST_PARTS cli/commands/column_commands._PROFILES
        cli/commands/describe_commands._MOST_FEATURES
        cli/commands/evaluate_commands._MOST_CLASSES cli/commands/evaluate_commands._MOST_LINES
        cli/commands/network_commands._MOST_LINES cli/guide.WIDTH cli/guide._LEAST
        encoding/categories._VALUES_IN_A_LABEL evaluation/metrics._MOST_NAMED
        networks/stored_networks._FEW report/graphs._LONGEST_LABEL report/graphs._MOST_CLASS_ARROWS
        lab/sheets._FEWEST report/bench_plots._MOST_PAIRED report/plots._MOST_CLASSES_NAMED
        report/plots._NAMED_WIDTH""",
    "what a file may hold, read where there is no session": """
        cli/parents_file._MOST_BYTES engines/scratch._MOST_BYTES lab/plan._MOST_BYTES""",
    "how long a signal waits, before there is a session": "cli/endings._MOMENT",
}
ALLOWED = {name for names in REASONS.values() for name in names.split()}
# Constants without a reason yet; lower it whenever there are fewer, and never raise it.
MOST = 2


def numbers(tree: ast.Module) -> Iterator[str]:
    """The names of a module that stand for a number, or for several."""
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if _is_number(node.value):
                yield from (t.id for t in targets if isinstance(t, ast.Name))


def _is_number(value: ast.expr) -> bool:
    if isinstance(value, ast.Constant):
        return isinstance(value.value, int | float) and not isinstance(value.value, bool)
    if isinstance(value, ast.BinOp):
        return _is_number(value.left) and _is_number(value.right)
    if isinstance(value, ast.UnaryOp):
        return _is_number(value.operand)
    return isinstance(value, ast.Tuple) and bool(value.elts) and all(map(_is_number, value.elts))


def constants() -> set[str]:
    """Module and name of every number at the top of a module."""
    return {
        f"{path.relative_to(PACKAGE).with_suffix('').as_posix()}.{name}"
        for path in PACKAGE.rglob("*.py")
        if path != PACKAGE / "engines" / "limits.py"
        for name in numbers(ast.parse(path.read_text(encoding="utf-8")))
    }


def test_numbers_outside_limits_have_a_reason() -> None:
    unexplained = sorted(constants() - ALLOWED)
    assert len(unexplained) <= MOST, f"fields of Limits, or a reason: {unexplained}"
    assert constants() >= ALLOWED, sorted(ALLOWED - constants())


def test_no_test_patches_a_tuning_constant() -> None:
    """Tests give `limits=Limits(…)`, or lower them by `limited(…)`."""
    patched = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in (ROOT / "tests").rglob("*.py")
        for name in _patched(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert len(patched) <= MOST_PATCHED, patched


def _patched(tree: ast.AST) -> Iterator[str]:
    """Names in capitals that are given to `setattr` of pytest."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if node.func.attr != "setattr":
            continue
        for argument in node.args[:2]:
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                name = argument.value.rpartition(".")[2]
                if name.isupper():
                    yield name


# Patches of constants that are there yet; lower it whenever there are fewer, and never raise it.
MOST_PATCHED = 2


def test_what_counts_as_a_number() -> None:
    source = "A = 1 << 4\n_B: float = 0.5\nC = (1, 2)\nD = 'x'\nE = True\nF = f(3)\nG = -2**3\n"
    assert list(numbers(ast.parse(source))) == ["A", "_B", "C", "G"]
