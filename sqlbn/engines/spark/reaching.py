"""Whether anybody listens where the user says that Spark is: Spark itself waits for minutes."""

from __future__ import annotations

import contextlib
import os
import re
import socket

from sqlbn.errors import EngineError, opt

_SECONDS = 10.0
_CONNECT_PORT = 15002
_PROXIES = ("grpc_proxy", "https_proxy", "http_proxy")


def check_reachable(master: str) -> None:
    """An error where no server of a master answers at all."""
    places = addresses(master)
    if not places or any(map(_answers, places)):
        return
    listed = " nor at ".join(f"{host}:{port}" for host, port in places)
    raise EngineError(
        f"{opt('master', _without_token(master))}: nobody answers at {listed}; "
        "check the address, and whether Spark is running"
    )


def addresses(master: str) -> list[tuple[str, int]]:
    """Hosts and ports that a master names; none where it names none that we could ask.

    >>> addresses("spark://a:7077,b:7078"), addresses("sc://[::1]/;token=x"), addresses("yarn")
    ([('a', 7077), ('b', 7078)], [('::1', 15002)], [])
    """
    found = re.match(r"(spark|sc)://([^/]+)", master)
    if found is None or (found[1] == "sc" and any(map(os.environ.get, _PROXIES))):
        return []
    places = []
    for place in found[2].split(","):
        told = re.fullmatch(r"(\[[^\]]*\]|[^:]*)(?::(\d+))?", place)
        if told is None:
            return []
        places.append((told[1].strip("[]"), int(told[2] or _CONNECT_PORT)))
    return places


def _answers(place: tuple[str, int]) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(place, timeout=_SECONDS):
        return True
    return False


def _without_token(master: str) -> str:
    return master.split(";")[0].rstrip("/")
