"""`sqlbn models`, `sqlbn show` and `sqlbn drop`; a model as text."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlbn
from sqlbn.cli.output import STATE, echo, echo_json
from sqlbn.cli.output import table as text_table
from sqlbn.errors import OptionError, SqlbnWarning, opt
from sqlbn.options.catalogue import BACKOFFS, SMOOTHINGS, WEIGHT_KINDS, WEIGHTINGS

if TYPE_CHECKING:
    from sqlbn import Model

# Features that are listed, of maybe a hundred thousand.
_MOST_FEATURES = 50


def models(store: str, json: bool) -> None:
    """List the models of a store."""
    found = sqlbn.models(store)
    if json:
        echo_json(found)
        return
    rows = [_listed(name, meta, store) for name, meta in found.items()]
    echo(text_table(["model", "learner", "target", "rows", "created", "version"], rows))


def _listed(name: str, meta: dict[str, Any], store: str) -> list[Any]:
    """A line of the list; one that is damaged does not hide the others."""
    from sqlbn.api import results

    problem = meta.get("damaged")
    if problem is None:
        keys = ("learner", "target", "rows", "created_at", "version")
        return [name, *(meta.get(key, "") for key in keys)]
    label = results.model_label(name, store)
    warnings.warn(f"{label} is damaged: {problem}; fit it again", SqlbnWarning, stacklevel=2)
    return [name, "(damaged)", "", None, "", ""]


def show(
    name: str,
    store: str,
    cpt: str | None,
    loocv: bool,
    plot: Path | None,
    levels: bool,
    encodings: bool,
    terms: bool,
    history: bool,
    decisions: bool,
    json: bool,
) -> None:
    """Show a model: attributes by information, parents, probabilities, how it was chosen.

    Of --cpt, --loocv, --levels, --encodings, --terms, --decisions and --history all that are asked
    for are shown, one after the other; with --json several are one document, by these names.
    """
    from sqlbn.api import results

    results.check_plot(plot)
    asked: dict[str, Callable[[Model], Shown]] = {
        "cpt": lambda model: cpt_of(model, cpt or ""),
        "loocv": lambda model: loocv_of(model, plot),
        "levels": levels_of,
        "encodings": encodings_of,
        "terms": terms_of,
        "decisions": decisions_of,
        "history": history_of,
    }
    shows_loocv = loocv or plot is not None
    wanted = (cpt is not None, shows_loocv, levels, encodings, terms, decisions, history)
    with sqlbn.load(store, name) as model:
        found = {
            section: asked[section](model)
            for section, is_wanted in zip(asked, wanted, strict=True)
            if is_wanted
        }
        if json:
            echo_json(_document(model, {key: rows for key, (rows, _) in found.items()}))
        elif not found:
            print_model(model)
        else:
            echo("\n\n".join(text for _, text in found.values()))


# The rows of a section for programs, and its text for people.
Shown = tuple[list[dict[str, Any]], str]


def _document(model: Model, sections: dict[str, list[dict[str, Any]]]) -> Any:
    """The whole model; of sections their rows, by name where they are several."""
    if not sections:
        return _as_dict(model)
    return sections if len(sections) > 1 else next(iter(sections.values()))


def cpt_of(model: Model, attribute: str) -> Shown:
    """The probabilities of an attribute."""
    found = model.cpt(attribute)
    rows = found.to_pylist()
    return rows, text_table(found.column_names, [list(row.values()) for row in rows])


def history_of(model: Model) -> Shown:
    """What was added to a model and taken out of it."""
    steps = model.history.to_pylist()
    rows = [
        [str(s["changed_at"]), s["action"], s["rows"], s["total_rows"], s["source"], s["note"]]
        for s in steps
    ]
    header = ["when (UTC)", "what", "rows", "then in all", "source", "note"]
    return steps, text_table(header, rows)


def levels_of(model: Model) -> Shown:
    """Strengths and weights of every level of the attributes' chains, by member if there are any.

    Of an ensemble people see the levels that have a weight: most have none.
    """
    rows = _levels(model)
    if not any(row.get(column) is not None for row in rows for column in ("strength", "weight")):
        raise OptionError(
            f"the model has no strengths and no weights; see {opt('smoothing', 'hierarchical')} "
            f"and {opt('weights', 'levels')}"
        )
    rank = {row["attribute"]: row["rank"] for row in model.attributes.to_pylist()}
    rows.sort(key=lambda row: (row.get("member", 0), rank[row["attribute"]], row["level"]))
    by_member = ["member"] if model.members is not None else []
    columns = [*by_member, "attribute", "level", "strength", "weight"]
    shown = [
        ["" if row.get(column) is None else row[column] for column in columns]
        for row in rows
        if not by_member or row["weight"]
    ]
    text = text_table([*by_member, "attribute", "parents", "strength", "weight"], shown)
    rest = len(rows) - len(shown)
    return rows, text + (f"\n{rest:,} more levels have no weight" if rest else "")


def _levels(model: Model) -> list[dict[str, Any]]:
    """A row a level, of products with what there is of strength and weight."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    if model.member_levels is not None:
        found |= {tuple(row.values()): row for row in model.member_levels.to_pylist()}
    for table, column in ((model.strengths, "strength"), (model.weights, "weight")):
        for row in table.to_pylist() if table is not None else []:
            key = row["attribute"], row["level"]
            found.setdefault(key, {"attribute": key[0], "level": key[1]})[column] = row[column]
    return list(found.values())


def encodings_of(model: Model) -> Shown:
    """The encodings that were tried and their losses: by leave-one-out, cross-fitted, expected."""
    found = model.encodings
    if found is None:
        raise OptionError(f"the encoding was given; see {opt('discretise', 'auto')}")
    tried = found.to_pylist()
    columns = ["encoding", "rows", "codes", "loss", "value", "cross_fitted", "expected"]
    rows = [
        [
            *("" if row[column] is None else row[column] for column in columns),
            "*" if row["chosen"] else "",
        ]
        for row in tried
    ]
    header = [*columns[:4], "leave-one-out", "cross-fitted", "expected of all rows", "chosen"]
    return tried, text_table(header, rows)


def terms_of(model: Model) -> Shown:
    """The parent sets of a collection and their weights."""
    found = model.terms
    if found is None:
        raise OptionError(f"a {model.meta['learner']} model is no collection of parent sets")
    terms = found.to_pylist()
    rows = [[t["attribute"], ", ".join(t["parents"]), t["weight"]] for t in terms]
    return terms, text_table(["attribute", "parents", "weight"], rows)


def decisions_of(model: Model) -> Shown:
    """The decisions of a structure pass with a bound."""
    found = model.decisions
    if found is None:
        raise OptionError(
            "the structure was found from all rows, not by decisions; see " + opt("bound")
        )
    shown = ["step", "variable", "action", "parent", "candidates", "rows", "checks"]
    rows = [
        [*(d[key] for key in shown), *(f"{d[key]:.6f}" for key in ("margin", "bound")), d["reason"]]
        for d in found.to_pylist()
    ]
    return found.to_pylist(), text_table([*shown, "margin", "bound", "reason"], rows)


def loocv_of(model: Model, plot: Path | None) -> Shown:
    """The leave-one-out surface as a table, one column a k; and as a picture."""
    from sqlbn.api import results

    surface = model.loocv
    if surface is None and model.members is not None:
        if model.weights is not None or model.meta.get("weights", "none") != "none":
            raise OptionError(
                "the members were weighed, not selected, so there is no surface to show or draw: "
                f"see {opt('levels', True)}"
            )
        raise OptionError(
            "each member was selected by itself: see the table 'member_loocv' of the store"
        )
    if surface is None:
        raise OptionError(f"a {model.meta['learner']} model chooses nothing by leave-one-out")
    meta = model.meta
    rule = meta.get("smoothing")
    rows = [row for row in surface.to_pylist() if row.get("smoothing") in (None, rule)]
    loss = meta["options"]["loss"]
    chosen = (meta["selected_k"], meta["selected_attributes"])
    letter = "n" if meta["learner"] == "ande" else "k"
    if plot is not None:
        fitted = model.history.to_pylist()[0]["total_rows"]
        title = f"{meta['learner']} of {meta['target']!r}, {fitted:,} rows"
        results.plot_loocv(plot, rows, loss, chosen, title, letter)
        echo(f"drawn: {plot}", err=True)
    ks = sorted({row["k"] for row in rows})
    values = {(row["k"], row["n_attributes"]): row["value"] for row in rows if row["loss"] == loss}
    ranked = sorted(model.attributes.to_pylist(), key=lambda row: row["rank"])
    names = ["(the prior alone)", *(f"+ {row['attribute']}" for row in ranked)]
    # Early stores do not say how many rows: all.
    used = {(r["k"], r["n_attributes"]): r.get("rows") for r in rows if r["loss"] == loss}
    marks = {cell: " ~" for cell in used if used[cell] != used[chosen]} | {chosen: " *"}
    body = [
        [n, name, *(f"{values[k, n]:.6f}{marks.get((k, n), '  ')}" for k in ks)]
        for n, name in enumerate(names)
    ]
    table = text_table(["l", loss, *(f"{letter} = {k}" for k in ks)], body)
    text = f"{table}\n* chosen: {letter} = {chosen[0]}, {chosen[1]} attributes"
    if " ~" in marks.values():
        text += "\n~ out in the race, by a part of the rows; the others by all"
    return rows, text


def drop(name: str, store: str, json: bool) -> None:
    """Remove a model from a store."""
    sqlbn.drop(store, name)
    if json:
        echo_json({"dropped": name, "store": store})
    elif not STATE.quiet:
        echo(f"dropped {name!r} from {store}")


def print_model(model: Model, most: int | None = None) -> None:
    """What a model is, for people."""
    meta = model.meta
    told = {k: v for k, v in meta["options"].items() if (k, v) != ("discretise", "ef")}
    if meta["target"] and not model.spec.smoothing.is_neutral:
        told["unseen"] = model.spec.smoothing.unseen
    options = ", ".join(_told(key, value) for key, value in told.items())
    if "selected_k" in meta:
        k = f"k {meta['selected_k']}, " if meta["learner"] != "ande" else ""
        options += f"; chosen: {k}{meta['selected_attributes']} attributes"
    if "superparent" in meta and meta["options"].get("superparent") != meta["superparent"]:
        options += f"; chosen: superparent {meta['superparent']}"
    skipped = f" ({meta['rows_skipped']:,} skipped)" if meta["rows_skipped"] else ""
    of = f" of {meta['target']!r}" if meta["target"] else ", a network without a class"
    echo(f"{meta['learner']} ({options}){of}")
    changes = model.history.num_rows - 1
    changed = f", changed {changes:,} times since (--history)" if changes else ""
    echo(f"{meta['rows']:,} rows{skipped} of {meta['source']}{changed}")
    if "encoding_choice" in meta:
        echo(f"encoding {meta['encoding_choice']}")
    _print_rules(model)
    _print_confidence(model)
    if meta["target"]:
        counts = [f"{row['class']} {row['n']:,}" for row in model.classes.to_pylist()]
        more = f", … {len(counts)} in all" if len(counts) > 12 else ""
        echo(f"classes: {', '.join(counts[:12])}{more}")
    echo("")
    if "long" in meta:
        _print_features(model, most)
        return
    rows = _attribute_rows(model)
    header = ["attribute", "kind", "values", "mi", "used", "parents"]
    if model.members is not None:
        sizes = [
            f"{m['n_attributes']}" + (f" (k {m['k']})" if m["k"] is not None else "")
            for m in model.members.to_pylist()
        ]
        echo(f"{meta['mean']} mean of members with so many attributes: {', '.join(sizes)}")
        losses = meta["mean_losses"][meta["mean"]]
        listed = ", ".join(f"{loss} {value:.4f}" for loss, value in losses.items())
        echo(f"by leave-one-out, when it was fitted: {listed}\n")
    if meta["learner"] == "ande" or model.members is not None:  # all take turns, or each its own
        header, rows = header[:-1], [row[:-1] for row in rows]
    if model.terms is not None:
        header = [*header[:-1], "parent sets"]
    if meta["learner"] == "snb":  # each counts in part, and has no parents
        weights = {row["attribute"]: row["weight"] for row in model.attributes.to_pylist()}
        header, rows = [*header[:4], "weight"], [[*row[:4], weights[row[0]]] for row in rows]
    if not meta["target"]:  # nothing to be informed about
        header, rows = [*header[:3], header[-1]], [[*row[:3], row[-1]] for row in rows]
    echo(text_table(header, rows[:most]))
    if most is not None and len(rows) > most:
        n_columns = len({book.column for book in model.spec.books})
        of_columns = f" of {n_columns} columns" if model.members is not None else ""
        echo(f"… {len(rows)} attributes{of_columns} in all")


def _print_features(model: Model, most: int | None) -> None:
    """The most informative features of a model of long input; all are in the table `features`."""
    meta, found = model.meta, model.variables.sort_by("rank")
    rules, ignored = meta["long"], meta.get("cells_ignored")
    projected = f", projected to {rules['features']:,}" if rules["features"] else ""
    columns = ", ".join(repr(rules[key]) for key in ("row", "feature", "value") if rules[key])
    echo(f"cells by {columns}: {found.num_rows:,} features{projected}")
    if ignored:
        echo(f"{ignored:,} cells of rows without a class were ignored")
    shown = found.slice(0, most if most is not None else _MOST_FEATURES).to_pylist()
    header = ["feature", "kind", "values", "rows", "mi", "weight"]
    keys = ("feature", "kind", "n_values", "n", "mi", "weight")
    echo(text_table(header, [[row[key] for key in keys] for row in shown]))
    if found.num_rows > len(shown):
        echo(f"… {found.num_rows:,} features in all: the table `features`")


def _print_rules(model: Model) -> None:
    """What the weights of rows mean, and when parents are dropped, where there are any."""
    meta, kind = model.meta, model.meta.get("weight_kind")
    if kind in WEIGHT_KINDS:
        echo(f"weights: {meta['weight']!r}, {kind}: {WEIGHT_KINDS[kind]}")
    _print_choices(meta)
    if model.spec.smoothing.is_hierarchical:
        return
    if model.parents.num_rows and meta.get("backoff") in BACKOFFS:
        echo(f"back-off {meta['backoff']}: parents are dropped {BACKOFFS[meta['backoff']]}")


def _print_choices(meta: dict[str, Any]) -> None:
    """How levels are smoothed and weighted, and what else was tried."""
    for key, words in (("smoothing", SMOOTHINGS), ("weights", WEIGHTINGS)):
        losses, value = meta.get(f"{key}_losses"), str(meta.get(key, "none"))
        if losses or value not in ("none", "backoff"):
            tried = ", ".join(f"{how} {loss:.4f}" for how, loss in (losses or {}).items())
            echo(f"{key} {value}: {words[value]}" + (f" ({tried})" if tried else ""))


def _print_confidence(model: Model) -> None:
    """From how many rows the structure comes, where a bound decided on it."""
    found = model.decisions
    if found is None:
        return
    if "bound" not in model.meta:
        echo(search_summary(model))
        return
    meta, reasons = model.meta, Counter(found["reason"].to_pylist())
    told = {"bound": "by the bound", "tie": "ties", "exhausted": "by all rows"}
    how = ", ".join(f"{reasons[key]:,} {words}" for key, words in told.items() if reasons[key])
    echo(
        f"parents from {meta['structure_rows']:,} rows by the {meta['bound']['bound']} bound: "
        f"{found.num_rows:,} decisions{f' ({how})' if how else ''}, "
        f"delta* {meta['delta_star']:.2g} (--decisions)"
    )


def _told(option: str, value: Any) -> str:
    if option == "parents":
        return f"parents of {len(value)} attributes"
    if option == "search":
        return ", ".join(_told(key, said) for key, said in value.items())
    return f"{option.replace('_', ' ')} {value}"


def _attribute_rows(model: Model) -> list[list[Any]]:
    """Attributes by rank; with their parents, or where these are many sets with their number."""
    parents: dict[str, list[str]] = {}
    for row in model.parents.to_pylist():
        parents.setdefault(row["attribute"], []).append(row["parent"])
    if model.terms is not None:
        sets = Counter(row["attribute"] for row in model.terms.to_pylist())
        parents = {name: [str(number)] for name, number in sets.items()}
    ranked = sorted(model.attributes.to_pylist(), key=lambda row: row["rank"])
    return [
        [
            r["attribute"],
            r["kind"],
            r["n_values"],
            r["mi"],
            "yes" if r["selected"] else "no",
            ", ".join(parents.get(r["attribute"], [])),
        ]
        for r in ranked
    ]


def _as_dict(model: Model) -> dict[str, Any]:
    return {
        "meta": model.meta,
        "classes": model.classes.to_pylist(),
        "attributes": model.attributes.to_pylist(),
        "parents": model.parents.to_pylist(),
        **({"features": model.variables.to_pylist()} if "long" in model.meta else {}),
        **({"terms": model.terms.to_pylist()} if model.terms is not None else {}),
    }


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
