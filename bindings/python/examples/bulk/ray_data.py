"""A folder of Parquet, moved to the active key on a Ray cluster.

    python ray_data.py saltern.toml rekey password_hash in/ out/

RAY_ADDRESS names the cluster; without it, Ray is started here. Every node has the policy, its keys
and its ROMs on its own disks, under the same name. One actor on a node has its pool, which runs the
policy's threads, not Ray's.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import ray
from ray.data import ActorPoolStrategy

from saltern.bulk import Rewrite


def main(policy: str, operation: str, column: str, source: str, target: str) -> None:
    address = os.environ.get("RAY_ADDRESS", "local")
    # On a small machine Ray's own tasks need processors beside the actor.
    settings: dict[str, Any] = {}
    if address == "local":
        settings = {"num_cpus": 4, "include_dashboard": False}
    ray.init(address, log_to_driver=False, **settings)
    nodes = len(ray.nodes())  # type: ignore[no-untyped-call, unused-ignore]
    table = ray.data.read_parquet(source).map_batches(
        Rewrite,
        fn_constructor_args=(policy, operation, column),
        fn_constructor_kwargs={"outcome": "outcome"},
        batch_format="pyarrow",
        batch_size=10_000,
        compute=ActorPoolStrategy(size=nodes),
    )
    table.write_parquet(target)
    counts = ray.data.read_parquet(target).groupby("outcome").count().take_all()
    print({row["outcome"]: row["count()"] for row in counts})


if __name__ == "__main__":
    main(*sys.argv[1:])
