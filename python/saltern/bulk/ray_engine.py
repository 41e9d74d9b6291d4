"""The engine of a cluster: Ray Data, with ranges as the rows of its dataset.

One actor on each node has the pool and the ROMs of that node. What is sent to it are names and
numbers: it reads the policy, the keys and the ROMs from its own disks, and does nothing unless they
are those of the job. Which actor does what range, and what is done again after one has died, Ray
decides; that nothing is done or counted twice, the ledger sees to.
"""

from __future__ import annotations

import json
import logging
import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from types import TracebackType
from typing import Any, TypeVar

import psycopg
import pyarrow as pa

from saltern.bulk.database import connect, told
from saltern.bulk.ledger import Range
from saltern.bulk.ranges import Assignment, Done, Worker, same_site
from saltern.bulk.refusal import Refused, Superseded
from saltern.bulk.report import say, told_to

T = TypeVar("T")

MOST_BLOCKS = 4000
"""So many tasks Ray keeps in mind; a task has several ranges where there are more."""
CALLS = 2
"""Ranges at a time in an actor: one has rows of the database while another one computes."""
CHECKED_WITHIN = 600.0
"""Seconds for all nodes to read their ROMs."""
QUIET = 60.0
"""Seconds without a result, after which it is asked whether the cluster is there."""
TICK = 0.5


class Ranges:
    """The actor: what Ray Data calls with ranges."""

    def __init__(self, assignment: Assignment) -> None:
        self.assignment = assignment
        self.own = threading.local()
        self.failure = ""
        try:
            # For nodes that have come since all were checked.
            self.site = same_site(assignment.policy, assignment.description)
        except Refused as refused:
            self.failure = f"{_node()}: {refused}"

    def __call__(self, batch: pa.Table) -> pa.Table:
        """Does ranges. What goes wrong is a result as well: Ray would do it again, and print it."""
        results = [self._do(json.loads(text)) for text in batch.column("range").to_pylist()]
        return pa.table({"done": [json.dumps(result) for result in results]})

    def _do(self, wanted: dict[str, Any]) -> dict[str, Any]:
        if self.failure:
            return {"failure": self.failure}
        if not hasattr(self.own, "worker"):
            self.own.worker = Worker(self.assignment, self.site)
        try:
            return asdict(self.own.worker.do(Range(**wanted)))
        except psycopg.Error as error:
            return {"failure": f"{_node()}: {told(error)}"}
        except Refused as refused:
            return {"failure": f"{_node()}: {refused}"}
        except Superseded:
            # Another actor has it, which Ray took this one for dead for; or another driver.
            return {"superseded": wanted["number"]}


class RayEngine:
    """A cluster, or Ray on this machine."""

    def __init__(self, address: str, workers: int | None, stop: threading.Event) -> None:
        self.address, self.workers, self.stop = address, workers, stop
        self._quiet = ExitStack()

    def __enter__(self) -> RayEngine:
        self._quiet.enter_context(_silence())
        try:
            import ray
        except ImportError as error:
            raise Refused(f"{error}: pip install 'saltern[ray]'") from None
        settings: dict[str, Any] = {}
        if self.address == "local":
            # Actors that had all processors would leave none for Ray's own tasks.
            settings = {"num_cpus": max(4, 2 * (os.cpu_count() or 1)), "include_dashboard": False}
        try:
            ray.init(self.address, logging_level=logging.ERROR, log_to_driver=False, **settings)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise Refused(f"--address {self.address}: {' '.join(str(error).split())}") from None
        logging.getLogger("ray").setLevel(logging.CRITICAL)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        import ray

        within(10.0, ray.shutdown)
        self._quiet.close()

    def check(self, assignment: Assignment) -> None:
        """Refuses the job if a node lacks something, or has something else."""
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        check = ray.remote(num_cpus=0, max_retries=0)(problem)
        nodes = self._nodes()
        asked = {
            check.options(
                scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            ).remote(assignment): node["NodeManagerAddress"]
            for node in nodes
        }
        try:
            answers = ray.get(list(asked), timeout=CHECKED_WITHIN)
        except ray.exceptions.RayError as error:
            first = str(error).strip().splitlines()[-1]
            raise Refused(f"a node cannot be asked for its policy: {first}") from None
        found = [
            f"{address}: {answer}"
            for address, answer in zip(asked.values(), answers, strict=True)
            if answer is not None
        ]
        if found:
            raise Refused("; ".join(found))
        say(f"{len(nodes)} nodes have the policy, its keys and its ROMs")

    def _nodes(self) -> list[dict[str, Any]]:
        import ray

        return [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]

    def results(
        self, assignment: Assignment, ranges: Sequence[Range]
    ) -> Iterator[Done | None]:
        """Does ranges. Once it is stopped, what is at hand is given up: nothing of it was
        written."""
        if not ranges:
            return
        results: queue.Queue[dict[str, Any] | BaseException | None] = queue.Queue()
        dataset = self._dataset(assignment, ranges)

        def consume() -> None:
            try:
                for row in dataset.iter_rows():
                    results.put(json.loads(row["done"]))
                results.put(None)
            except BaseException as error:
                results.put(error)

        threading.Thread(target=consume, daemon=True, name="saltern.bulk").start()
        heard, longest = time.monotonic(), 0.0
        while not self.stop.is_set():
            try:
                result = results.get(timeout=TICK)
            except queue.Empty:
                if time.monotonic() - heard > max(QUIET, 10 * longest):
                    self._watch()
                    heard = time.monotonic()
                yield None
                continue
            heard = time.monotonic()
            if result is None:
                return
            if isinstance(result, BaseException):
                raise Refused(f"Ray: {_last_line(result)}")
            if "failure" in result:
                raise Refused(result["failure"])
            if "superseded" not in result:
                done = Done(**result)
                done.errors = [(id, outcome, why) for id, outcome, why in done.errors]
                longest = max(longest, done.seconds)
                yield done

    def _dataset(self, assignment: Assignment, ranges: Sequence[Range]) -> Any:
        """As Ray Data has it by default, actors are spread over the nodes, and restarted when they
        die, and what they had begun is done again."""
        import ray
        from ray.data import ActorPoolStrategy, DataContext

        logging.getLogger("ray.data").setLevel(logging.CRITICAL)
        context = DataContext.get_current()
        context.enable_progress_bars = False
        context.print_on_execution_start = False
        nodes = self._nodes()
        actors = self.workers or len(nodes)
        # All processors of a node but one, which Ray's own tasks need.
        smallest = int(min(node["Resources"]["CPU"] for node in nodes))
        processors = 1 if actors > len(nodes) or self.address == "local" else max(1, smallest - 1)
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

    def _watch(self) -> None:
        """Ends the job if there is no cluster any more: Ray would wait for it."""
        nodes = within(20.0, self._nodes)
        if not nodes:
            raise Refused("the Ray cluster is gone: start it, and the same command goes on")


def problem(assignment: Assignment) -> str | None:
    """What keeps this node from doing its part, if anything."""
    try:
        same_site(assignment.policy, assignment.description)
        connect(assignment.source).close()
    except Refused as refused:
        return str(refused)
    except psycopg.Error as error:
        return f"the database: {told(error)}"
    return None


def within(seconds: float, ask: Callable[[], T]) -> T | bool | None:
    """What a function returns (true for nothing), or `None` if it does not in time, or fails."""
    answers: list[T | bool] = []

    def run() -> None:
        try:
            answer = ask()
        except Exception:
            return
        answers.append(True if answer is None else answer)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    return answers[0] if answers else None


@contextmanager
def _silence() -> Iterator[None]:
    """Keeps what Ray says, in Python and beside it, from our streams: standard output is for the
    report, and what people are told goes past this."""
    for name, value in (
        ("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0"),
        ("RAY_DATA_DISABLE_PROGRESS_BARS", "1"),
        ("RAY_USAGE_STATS_ENABLED", "0"),
    ):
        os.environ.setdefault(name, value)
    kept = [os.dup(1), os.dup(2)]
    with open(os.devnull, "w") as nothing, os.fdopen(os.dup(2), "w") as people, told_to(people):
        _point(nothing.fileno(), nothing.fileno())
        try:
            yield
        finally:
            _point(*kept)
            for descriptor in kept:
                os.close(descriptor)


def _point(output: int, errors: int) -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    os.dup2(output, 1)
    os.dup2(errors, 2)


def _node() -> str:
    return f"node {os.uname().nodename}"


def _last_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[-1].strip() if lines else type(error).__name__
