"""The paper's Table 2: HGC, VFBN1 and VFBN2 on rows drawn from known networks; and growth.

    python tests/benchmarks/networks.py [--rows 5e6] [--networks alarm,...] [--methods hgc,...]
    python tests/benchmarks/networks.py --growth 1e6,5e6,20e6 [--networks alarm]
    python tests/benchmarks/networks.py --beside 20000 [--networks alarm,insurance]

Whole processes of ours, two threads. `structure` is the time to draw rows in random order and to
search; reading categories, encoding and parameters are `others`: each is a pass over all rows.
The networks are in ../shared/data/bif. --beside also runs the hill climbing of pgmpy and pyAgrum
(`pip install pgmpy pyagrum`, where they are installed) on so many rows. The paper's minutes are of
a Pentium III with 1 GHz.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from measure import SHARED, run, sqlbn

NETWORKS = ("insurance", "water", "alarm", "hailfinder")
METHODS = ("hgc", "vfbn1", "vfbn2")
# Log-likelihood, million rows read, minutes.
PAPER = {
    ("insurance", "true"): (-13.048, None, None),
    ("insurance", "hgc"): (-13.048, 320.00, 2446.08),
    ("insurance", "vfbn1"): (-13.069, 16.69, 39.72),
    ("insurance", "vfbn2"): (-13.070, 0.52, 1.02),
    ("water", "true"): (-12.781, None, None),
    ("water", "hgc"): (-12.783, 375.00, 5897.53),
    ("water", "vfbn1"): (-12.805, 35.80, 360.45),
    ("water", "vfbn2"): (-12.795, 0.88, 1.85),
    ("alarm", "true"): (-10.448, None, None),
    ("alarm", "hgc"): (-10.455, 279.93, 7200.15),
    ("alarm", "vfbn1"): (-10.439, 15.07, 87.87),
    ("alarm", "vfbn2"): (-10.447, 0.81, 2.92),
    ("hailfinder", "true"): (-49.115, None, None),
    ("hailfinder", "hgc"): (-54.403, 123.12, 7200.62),
    ("hailfinder", "vfbn1"): (-48.885, 23.80, 194.97),
    ("hailfinder", "vfbn2"): (-48.889, 0.17, 3.22),
}


def bif(network: str) -> Path:
    """The file of a network."""
    return SHARED / "data" / "bif" / f"{network}.bif.gz"


def drawn(network: str, rows: float, seed: int, folder: Path) -> Path:
    """Rows of a network, drawn once."""
    path = folder / f"{network}-{int(rows)}-{seed}.parquet"
    if not path.exists():
        sqlbn(f"sample --bif {bif(network)} --rows {int(rows)} --seed {seed} --out {path}")
    return path


def learned(method: str, data: Path, folder: Path) -> dict[str, object]:
    """What `network learn` tells of itself."""
    done = sqlbn(
        f"network learn {data} --method {method} --store {folder}/networks.duckdb "
        f"--name {method} --replace --json"
    )
    found: dict[str, object] = done.json
    return found


def told(network: str, method: str) -> str:
    """The paper's figures."""
    likelihood, rows, minutes = PAPER[network, method]
    read = f"{rows:10.2f} {minutes:9.2f}" if rows is not None else f"{'':10} {'':9}"
    return f"{likelihood:9.3f} {read}"


def table(networks: list[str], methods: list[str], rows: float, folder: Path) -> None:
    """Log-likelihood of 100,000 test rows, rows read, seconds; the paper's figures beside."""
    print(
        f"{'network':11} {'method':6} {'log-lik.':>9} {'M rows':>8} {'structure s':>11} "
        f"{'others s':>9} {'arcs':>5} | {'paper':>9} {'M rows':>10} {'minutes':>9}",
        flush=True,
    )
    for network in networks:
        train, test = drawn(network, rows, 1, folder), drawn(network, 1e5, 2, folder)
        true = sqlbn(f"network score {test} --bif {bif(network)} --json").json
        print(
            f"{network:11} {'true':6} {true['log_likelihood']:9.3f} {'':8} {'':11} {'':9} "
            f"{true['arcs']:5} | {told(network, 'true')}",
            flush=True,
        )
        for method in methods:
            model = learned(method, train, folder)
            place = f"--store {folder}/networks.duckdb --name {method}"
            score = sqlbn(f"network score {test} {place} --json").json
            structure, others = times(model)
            print(
                f"{'':11} {method:6} {score['log_likelihood']:9.3f} "
                f"{int(str(model['structure_rows'])) / 1e6:8.2f} {structure:11.2f} "
                f"{others:9.2f} {score['arcs']:5} | {told(network, method)}",
                flush=True,
            )


def times(model: dict[str, object]) -> tuple[float, float]:
    """Seconds of the structure, and of all other passes."""
    seconds = model["seconds"]
    assert isinstance(seconds, dict)
    structure = seconds.get("sample", 0.0) + seconds["search"]
    return structure, sum(seconds.values()) - structure


def growth(networks: list[str], sizes: list[float], folder: Path) -> None:
    """VFBN2 on more and more rows of the same network."""
    print(
        f"{'network':11} {'M rows':>7} {'read M':>7} {'draw s':>7} {'search s':>9} {'others s':>9}"
    )
    for network in networks:
        for size in sizes:
            train = drawn(network, size, 1, folder)
            model = learned("vfbn2", train, folder)
            seconds = model["seconds"]
            assert isinstance(seconds, dict)
            print(
                f"{network:11} {size / 1e6:7.1f} {int(str(model['structure_rows'])) / 1e6:7.2f} "
                f"{seconds['sample']:7.2f} {seconds['search']:9.2f} {times(model)[1]:9.2f}",
                flush=True,
            )
            train.unlink()


def beside(networks: list[str], rows: float, folder: Path) -> None:
    """Hill climbing of other programs on the same rows; log-likelihood through their BIF files."""
    here = Path(__file__).parent / "network_peers.py"
    print(f"{'network':11} {'program':9} {'seconds':>8} {'arcs':>5} {'log-lik.':>9}", flush=True)
    for network in networks:
        train, test = drawn(network, rows, 1, folder), drawn(network, 1e5, 2, folder)
        for method in METHODS:
            model = learned(method, train, folder)
            place = f"--store {folder}/networks.duckdb --name {method}"
            score = sqlbn(f"network score {test} {place} --json").json
            print(
                f"{network:11} {method:9} {sum(times(model)):8.2f} {score['arcs']:5} "
                f"{score['log_likelihood']:9.3f}",
                flush=True,
            )
        for program, package in (("pgmpy", "pgmpy"), ("pyAgrum", "pyagrum")):
            if find_spec(package) is None:
                print(f"{network:11} {program:9} not installed", flush=True)
                continue
            out = folder / f"{program}.bif"
            found = run(sys.executable, here, package, train, out).json
            score = sqlbn(f"network score {test} --bif {out} --json").json
            print(
                f"{network:11} {program:9} {found['seconds']:8.2f} {found['arcs']:5} "
                f"{score['log_likelihood']:9.3f}"
                + (
                    f"  ({score['impossible_rows']} rows impossible)"
                    * bool(score["impossible_rows"])
                ),
                flush=True,
            )


def main() -> None:
    """Print one of the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--rows", type=float, default=5e6)
    parser.add_argument("--growth", help="numbers of rows, such as 1e6,5e6,20e6")
    parser.add_argument("--beside", type=float, help="rows for pgmpy and pyAgrum")
    parser.add_argument("--folder", type=Path, help="keep drawn rows here")
    options = parser.parse_args()
    if not SHARED.is_dir():
        raise SystemExit("../shared is not here: it has the networks")
    networks = options.networks.split(",")
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or Path(scratch)
        if options.growth:
            growth(networks, [float(n) for n in options.growth.split(",")], folder)
        elif options.beside:
            beside(networks, options.beside, folder)
        else:
            table(networks, options.methods.split(","), options.rows, folder)


if __name__ == "__main__":
    main()
