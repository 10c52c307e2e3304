"""`driftwatch peers` over stored snapshots, against the same question in DuckDB: ``python benchmarks/peers.py [--work DIR] [--hosts N] [--rounds N]``.

The fleet: N snapshots of about 3,000 facts, made of a recorded host of the tests, each with its own GPU UUIDs and its own values of what is volatile, as
`driftwatch snapshot` stores them. One host in ten has another version of one package, three do not answer for their GPUs, one was never reached.
DuckDB reads the same files, puts the GPUs of a host together by their UUIDs, leaves out what is volatile, and returns the majority of each fact with its
counts and the hosts that have another value. It neither checks the files nor explains anything; ours does. Goals: at most 1.5 times DuckDB's CPU time,
and at most 60 MiB above the interpreter's own peak.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from local_snapshot import ROOT, pip_install
from round_robin import Row, compare, compile_all, table

OURS, THEIRS, BARE = "driftwatch peers", "DuckDB", "python -c pass"
QUERY = """
import sys, duckdb
db = duckdb.connect()
db.execute("set threads = 2")
volatile = r'^(' + '|'.join(open(sys.argv[2]).read().split()) + r')$'
rows = db.execute('''
with told as (
  select host, unnest(map_entries(facts)) as one
  from read_json($files, columns = {host: 'VARCHAR', facts: 'MAP(VARCHAR, JSON)'}, format = 'unstructured', maximum_object_size = 33554432)),
flat as (
  select host, case when starts_with(one.key, 'gpus/') then regexp_replace(one.key, 'GPU-[0-9a-f-]+', '*') else one.key end as path, one.value::VARCHAR as value
  from told),
paths as (select distinct path from flat),
kept as (select path from paths where not regexp_matches(path, $volatile)),
hosts as (
  select host, path, case when path[:5] = 'gpus/' then string_agg(value, ',' order by value) else any_value(value) end as value
  from flat semi join kept using (path) where not starts_with(value, '{"reason"') group by host, path),
counts as (select path, value, count(*) as many from hosts group by path, value),
best as (select path, arg_max(value, many) as majority, max(many) as agree, sum(many) as known from counts group by path having count(*) > 1)
select best.path, majority, agree, known, list(hosts.host) as odd from best join hosts on hosts.path = best.path and hosts.value <> best.majority
where 2 * agree > known group by all
''', {"files": sys.argv[1], "volatile": volatile}).fetchall()
print(len(rows), sum(len(row[4]) for row in rows))
"""


def main() -> None:
    """Build what is missing, measure, print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, default=Path.home() / ".cache/driftwatch-benchmarks")
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    fleet = given.work / f"peers-{given.hosts}"
    fleet.mkdir(parents=True, exist_ok=True)
    made = [sys.executable, str(ROOT / "benchmarks/peers_fleet.py"), str(fleet), str(given.hosts)]  # apart, or its peak would be told as that of each row
    volatile = subprocess.run(made, check=True, stdout=subprocess.PIPE, text=True).stdout
    duck = given.work / "duckdb/bin/python"
    if not duck.exists():
        subprocess.run([sys.executable, "-m", "venv", given.work / "duckdb"], check=True)
    why_not = pip_install(duck, "duckdb")
    (given.work / "peers.sql.py").write_text(QUERY)
    (given.work / "peers.volatile").write_text(volatile)
    compile_all(ROOT / "driftwatch")
    rows = [
        Row(OURS, (sys.executable, "-m", "driftwatch", "peers", str(fleet), "--format", "json", "--out", str(given.work / "peers.json"))),
        Row(THEIRS, (str(duck), str(given.work / "peers.sql.py"), f"{fleet}/*.json", str(given.work / "peers.volatile")), why_not=why_not),
        Row(BARE, (sys.executable, "-c", "pass")),
    ]
    print(table(rows, compare(rows, given.rounds), OURS))


if __name__ == "__main__":
    main()
