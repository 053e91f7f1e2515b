"""What a search for a network says of itself, for people."""

from __future__ import annotations

from sqlbn.model import Model


def search_summary(model: Model) -> str:
    """One or two lines about a search."""
    meta, searched = model.meta, model.history.to_pylist()[0]["total_rows"]
    found = (
        f"{meta['arcs']} arcs{_besides(meta['target'])} by {meta['learner']}: "
        f"{meta['structure_steps']} decisions from "
        f"{meta['structure_rows']:,} rows read"
        + ("" if "window" in meta else f" (the table had {searched:,})")
    )
    decisions = model.decisions
    if "delta_star" in meta and decisions is not None:
        reasons = decisions.column("reason").to_pylist()
        found += (
            f"\n{reasons.count('bound')} of them by the bound, {reasons.count('tie')} ties, "
            f"{reasons.count('exhausted')} with all rows; delta* achieved {meta['delta_star']:.2g}"
        )
        if reasons.count("exhausted") > len(reasons) / 2:
            found += (
                "\nMost decisions ran out of rows, and delta* says nothing of those: for so few "
                "rows --method hgc is the better choice."
            )
    if meta.get("interrupted"):
        found += "\nThe search was interrupted: more arcs may be worth having."
    return found


def _besides(target: str) -> str:
    return " besides those from the class" if target else ""
