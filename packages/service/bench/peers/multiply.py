"""Copies the traces that Phoenix and MLflow were sent until each has so many: with ids of their own, and otherwise as those servers stored them.

    python3 multiply.py <directory of peer-reads.ts --data> <traces>

Sending a million spans takes Phoenix hours. The servers must not run. What is sent afterwards is the newest.
"""
import json
import os
import sqlite3
import sys

directory, wanted = sys.argv[1], int(sys.argv[2])


def columns(db, table):
    return [row[1] for row in db.execute(f"PRAGMA table_xinfo({table})") if row[6] == 0]


def copy(db, table, changed, traces, where=""):
    """Rows of the copy number $n of the first traces, with some columns changed."""
    names = columns(db, table)
    values = ", ".join(changed.get(name, name) for name in names)
    db.execute(f"INSERT INTO {table} ({', '.join(names)}) SELECT {values} FROM {table} {where}", traces)


def other(column, prefix=""):
    """An id of the same form, in no order: without its first digits, and with the number of the copy behind."""
    return f"'{prefix}' || substr({column}, {len(prefix) + 5}) || printf('%04x', :n)"


def phoenix(db, traces, n):
    span_step, trace_step = db.execute("SELECT max(id) FROM spans WHERE trace_rowid <= :t", {"t": traces["t"]}).fetchone()[0], traces["t"]
    cost_step = db.execute("SELECT max(id) FROM span_costs WHERE trace_rowid <= :t", {"t": traces["t"]}).fetchone()[0]
    detail_step = db.execute("SELECT max(id) FROM span_cost_details WHERE span_cost_id <= :c", {"c": cost_step}).fetchone()[0]
    p = {"n": n, "last": traces["last"]}
    copy(db, "traces", {"id": f"id + :n * {trace_step}", "trace_id": other("trace_id")}, p, "WHERE id <= :last")
    copy(
        db,
        "spans",
        {
            "id": f"id + :n * {span_step}",
            "trace_rowid": f"trace_rowid + :n * {trace_step}",
            "span_id": other("span_id"),
            "parent_id": other("parent_id"),
        },
        p,
        "WHERE trace_rowid <= :last",
    )
    copy(
        db,
        "span_costs",
        {"id": f"id + :n * {cost_step}", "span_rowid": f"span_rowid + :n * {span_step}", "trace_rowid": f"trace_rowid + :n * {trace_step}"},
        p,
        "WHERE trace_rowid <= :last",
    )
    copy(
        db,
        "span_cost_details",
        {"id": f"id + :n * {detail_step}", "span_cost_id": f"span_cost_id + :n * {cost_step}"},
        p,
        "WHERE span_cost_id IN (SELECT id FROM span_costs WHERE trace_rowid <= :last)",
    )


def mlflow(db, traces, n):
    db.execute("CREATE TEMP TABLE IF NOT EXISTS first AS SELECT request_id FROM trace_info ORDER BY rowid LIMIT :t", {"t": traces["t"]})
    p = {"n": n, "last": traces["last"]}
    first = "(SELECT request_id FROM first WHERE rowid <= :last)"
    request = other("request_id", "tr-")
    for table in ["trace_info", "trace_tags", "trace_request_metadata", "trace_metrics"]:
        if columns(db, table):
            copy(db, table, {"request_id": request}, p, f"WHERE request_id IN {first}")
    for table in ["spans", "span_metrics", "span_attributes"]:
        if columns(db, table):
            changed = {
                "trace_id": other("trace_id", "tr-"),
                "span_id": other("span_id"),
                "parent_span_id": other("parent_span_id"),
            }
            copy(db, table, changed, p, f"WHERE trace_id IN {first}")


with open(os.path.join(directory, "sent.json")) as file:
    sent = json.load(file)
for name, path, fill in [("Phoenix", "Phoenix/phoenix.db", phoenix), ("MLflow", "MLflow/mlflow.db", mlflow)]:
    db = sqlite3.connect(os.path.join(directory, path))
    db.execute("PRAGMA synchronous = off")
    first, count, n = sent[name], sent[name], 1
    while count < wanted:
        last = min(first, wanted - count)
        fill(db, {"t": first, "last": last}, n)
        db.commit()
        count, n = count + last, n + 1
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    sent[name] = count
    print(name, count, flush=True)
with open(os.path.join(directory, "sent.json"), "w") as file:
    json.dump(sent, file)
