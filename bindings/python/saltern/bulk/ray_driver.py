"""The engine of a cluster, on the side of Ray: Ray Data, with ranges as the rows of its dataset.

One actor on each node has the pool and the ROMs of that node. Only names and numbers are sent to
it: it reads the policy, the keys and the ROMs from its own disks, and does nothing unless they are
those of the job. Ray decides which actor processes which range, and what is repeated after one has
died; the ledger ensures that nothing is done or counted twice.
"""

from __future__ import annotations

import json
import logging
import os
import tempfile
import threading
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict
from multiprocessing.connection import Connection as Pipe
from typing import Any

import psycopg
import pyarrow as pa

import saltern
from saltern.bulk.columns import same_site
from saltern.bulk.database import connect, told
from saltern.bulk.ledger import Range
from saltern.bulk.ranges import Assignment, Done, Worker
from saltern.bulk.refusal import Refused, Superseded
from saltern.bulk.table import place

MOST_BLOCKS = 4000
"""So many tasks Ray keeps in mind; a task has several ranges where there are more."""
CALLS = 2
"""Ranges at a time in an actor: one has rows of the database while another one computes."""
CHECKED_WITHIN = 600.0
"""Seconds for all nodes to read their ROMs."""
ALIVE = 5.0
"""Seconds between signs of life."""
FAREWELL = 10.0
"""Seconds for Ray to end what it has started."""


class Ranges:
    """The actor that Ray Data calls with ranges."""

    def __init__(self, assignment: Assignment) -> None:
        self.assignment = assignment
        self.own = threading.local()
        self.failure = ""
        try:
            # For nodes that joined after the check.
            self.site = same_site(assignment.policy, assignment.description)
        except Refused as refused:
            self.failure = f"{_node()}: {refused}"

    def __call__(self, batch: pa.Table) -> pa.Table:
        """Processes ranges. Errors are returned as results: Ray would retry and print them."""
        results = [self._do(json.loads(text)) for text in batch.column("range").to_pylist()]
        return pa.table({"done": [json.dumps(result) for result in results]})

    def _do(self, wanted: dict[str, Any]) -> dict[str, Any]:
        if self.failure:
            return {"failure": self.failure}
        if not hasattr(self.own, "worker"):
            self.own.worker = Worker(self.assignment, self.site)
        try:
            done = self.own.worker.do(Range(**wanted))
            return {} if done is None else {"done": asdict(done)}
        except psycopg.Error as error:
            return {"failure": f"{_node()}: {told(error)}"}
        except (Refused, saltern.SalternError) as error:
            return {"failure": f"{_node()}: {error}"}
        except Superseded:
            # Another actor has it, since Ray took this one for dead; or another driver has.
            return {}


class Driver:
    """The process that asks Ray, at the other end of the job's pipe."""

    def __init__(self, pipe: Pipe, workers: int | None) -> None:
        self.pipe, self.workers = pipe, workers
        self._sending = threading.Lock()

    def send(self, message: dict[str, Any]) -> None:
        """Sends a message to the job."""
        with self._sending:
            self.pipe.send(message)

    def serve(self) -> None:
        """Answers the job's requests until its end of the pipe is closed."""
        threading.Thread(target=self._live, daemon=True).start()
        work: threading.Thread | None = None
        while True:
            try:
                request = self.pipe.recv()
            except (EOFError, OSError):
                return
            # Its end is watched meanwhile.
            work = threading.Thread(target=self._work, args=request, daemon=True)
            work.start()

    def _live(self) -> None:
        """Sends a sign of life as long as the cluster exists."""
        pause = threading.Event()
        while not pause.wait(ALIVE):
            try:
                if nodes():
                    self.send({})
            except Exception:
                # The job notices from the silence that something is wrong.
                continue

    def _work(self, request: str, assignment: Assignment, *ranges: Sequence[Range]) -> None:
        try:
            if request == "check":
                self.send({"nodes": check(assignment)})
                return
            dataset = prepared(assignment, ranges[0], self.workers)
            for row in dataset.iter_rows():
                message = json.loads(row["done"])
                if "done" in message:
                    message["done"] = Done(**message["done"])
                self.send(message)
            self.send({"end": True})
        except Refused as refused:
            self.send({"failure": str(refused)})
        except Exception as error:
            self.send({"failure": f"Ray: {_last_line(error)}"})


def run(pipe: Pipe, address: str, workers: int | None) -> None:
    """The whole life of the process."""
    # Signals from a terminal, and its streams, belong to the job.
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)
    driver = Driver(pipe, workers)
    for name, value in (
        ("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0"),
        ("RAY_USAGE_STATS_ENABLED", "0"),
    ):
        os.environ.setdefault(name, value)
    try:
        import ray
        import ray.data
    except ImportError as error:
        driver.send({"failure": f"{error}: pip install 'saltern[ray]'"})
        return
    settings: dict[str, Any] = {}
    with ExitStack() as stack:
        if address == "local":
            # Ray makes folders in which all users of the machine may replace its sockets: they are
            # below one that is ours alone. Sockets need short names.
            folder = tempfile.TemporaryDirectory("", "saltern-", "/tmp", ignore_cleanup_errors=True)
            settings = {
                # Actors with all processors would leave none for Ray's own tasks.
                "num_cpus": max(4, 2 * (os.cpu_count() or 1)),
                "include_dashboard": False,
                "_temp_dir": os.path.join(stack.enter_context(folder), "ray"),
            }
        try:
            ray.init(address, logging_level=logging.ERROR, log_to_driver=False, **settings)
        except (ConnectionError, RuntimeError, ValueError) as error:
            driver.send({"failure": f"--address {address}: {' '.join(str(error).split())}"})
            return
        driver.serve()
        # The job may be dead, and nobody would end what Ray does not end.
        last = threading.Timer(FAREWELL, os._exit, [1])
        last.daemon = True
        last.start()
        ray.shutdown()


def nodes() -> list[dict[str, Any]]:
    """The nodes that have processors."""
    import ray

    known: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call, unused-ignore]
    return [node for node in known if node["Alive"] and node["Resources"].get("CPU")]


def check(assignment: Assignment) -> int:
    """Asks every node whether it can do its part; returns the number of nodes."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    ask: Any = ray.remote(num_cpus=0, max_retries=0)(problem)
    asked = {
        ask.options(
            scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        ).remote(assignment): node["NodeManagerAddress"]
        for node in nodes()
    }
    try:
        answers = ray.get(list(asked), timeout=CHECKED_WITHIN)
    except ray.exceptions.RayError as error:
        raise Refused(f"a node cannot be asked for its policy: {_last_line(error)}") from None
    found = [
        f"node {address}: {answer}"
        for address, answer in zip(asked.values(), answers, strict=True)
        if answer is not None
    ]
    if found:
        raise Refused("; ".join(found))
    return len(asked)


def prepared(assignment: Assignment, ranges: Sequence[Range], workers: int | None) -> Any:
    """The dataset of ranges and their results. By default, Ray Data spreads actors over the nodes,
    restarts them when they die, and repeats what they had begun."""
    import ray
    from ray.data import ActorPoolStrategy, DataContext

    DataContext.get_current().enable_progress_bars = False
    there = nodes()
    actors = workers or len(there)
    # All processors of a node but one, which Ray's own tasks need; fewer if actors share nodes.
    smallest = int(min(node["Resources"]["CPU"] for node in there))
    processors = 1 if actors > len(there) else max(1, smallest - 1)
    items = [{"range": json.dumps(asdict(wanted))} for wanted in ranges]
    dataset = ray.data.from_items(items, override_num_blocks=min(len(items), MOST_BLOCKS))
    return dataset.map_batches(
        Ranges,
        fn_constructor_kwargs={"assignment": assignment},
        batch_format="pyarrow",
        batch_size=1,
        num_cpus=processors,
        compute=ActorPoolStrategy(
            size=actors,
            max_tasks_in_flight_per_actor=2 * CALLS,
            max_concurrent_calls_per_actor=CALLS,
            enable_true_multi_threading=True,
        ),
    )


def problem(assignment: Assignment) -> str | None:
    """What prevents this node from doing its part, if anything."""
    try:
        same_site(assignment.policy, assignment.description)
        with closing(connect(assignment.source)) as connection:
            found = place(connection, assignment.table)
        others = [
            f"{name} {found[name]} instead of {wanted}"
            for name, wanted in assignment.place.items()
            if found[name] != wanted
        ]
        if others:
            return f"the DSN leads elsewhere here: {', '.join(others)}"
    except Refused as refused:
        return str(refused)
    except psycopg.Error as error:
        return f"the database: {told(error)}"
    return None


def _node() -> str:
    return f"node {os.uname().nodename}"


def _last_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[-1].strip() if lines else type(error).__name__
