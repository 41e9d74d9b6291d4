"""A folder of Parquet, moved to the active key with Spark.

    python spark_frame.py saltern.toml rekey password_hash in/ out/

Every executor has the policy, its keys and its ROMs on its own disks, under the same name. Spark
starts a process for each of its cores: give the policy one thread (`[pool] threads = 1`), or the
executors one core each.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from saltern.bulk import Rewrite


def main(policy: str, operation: str, column: str, source: str, target: str) -> None:
    spark = SparkSession.builder.appName("saltern.bulk").getOrCreate()
    rewrite = Rewrite(policy, operation, column, outcome="outcome")

    def rewritten(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return map(rewrite, batches)

    frame = spark.read.parquet(source)
    schema = StructType([*frame.schema.fields, StructField("outcome", StringType())])
    frame.mapInArrow(rewritten, schema).write.parquet(target)
    counts = spark.read.parquet(target).groupBy("outcome").count().collect()
    print({row["outcome"]: row["count"] for row in counts})
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
