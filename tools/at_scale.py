#!/usr/bin/env python3
"""Conversations in a lake, annotated or redacted by `weir detect --jsonl`, one process per partition.

    spark-submit tools/at_scale.py --weir weir --field 'messages.*.content' --redact IN OUT

IN is a folder or file of JSON lines, OUT a folder that does not exist yet. With --check the result is
compared with what a single process makes of the same records."""

import argparse
import json
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path

from pyspark.sql import SparkSession


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--weir", default="weir", help="the program, on every worker")
    parser.add_argument("--field", action="append", required=True, help="where the texts are")
    parser.add_argument("--redact", action="store_true", help="replace what is found")
    parser.add_argument("--partitions", type=int, help="at least so many")
    parser.add_argument("--check", action="store_true", help="compare with a single process")
    parser.add_argument("input")
    parser.add_argument("output")
    return parser.parse_args()


def kinds(line):
    return [found["detection"] for found in json.loads(line)["weir"]["detections"]]


def compare(command, args):
    """Every record, whatever partition it was in, is what one process makes of it."""
    source = Path(args.input)
    files = sorted(source.iterdir()) if source.is_dir() else [source]
    text = b"".join(file.read_bytes() for file in files)
    whole = subprocess.run(command, input=text, stdout=subprocess.PIPE, check=True).stdout
    parts = [path.read_bytes() for path in sorted(Path(args.output).glob("part-*"))]
    same = Counter(whole.splitlines()) == Counter(b"".join(parts).splitlines())
    print("the same as one process makes" if same else "NOT the same as one process makes")
    return same


def main():
    args = arguments()
    command = [args.weir, "detect", "--jsonl", *(f"--field={field}" for field in args.field)]
    command += ["--redact"] if args.redact else []
    spark = SparkSession.builder.appName("weir detect").getOrCreate()
    lines = spark.sparkContext.textFile(args.input, args.partitions)
    records = lines.pipe(shlex.join(command), checkCode=True)
    records.saveAsTextFile(args.output)
    written = spark.sparkContext.textFile(args.output)
    counts = written.flatMap(kinds).countByValue()
    print(f"{written.count()} records in {lines.getNumPartitions()} partitions")
    for kind, n in sorted(counts.items()):
        print(f"{n:9} {kind}")
    spark.stop()
    return 0 if not args.check or compare(command, args) else 1


if __name__ == "__main__":
    sys.exit(main())
