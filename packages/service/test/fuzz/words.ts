import * as fc from "fast-check";
import type { Words } from "./from-schema.js";

/** What the seeded project holds, so that requests meet something. */
export interface Seeded {
  project_id: string;
  object: string;
  table: string;
  rows: string[];
  file: string;
}

/** Ids that several requests share; every other id is one request's own. */
export const sharedIds = ["a", "b", "c", "0199d3a4-1a00-7c31-9f0e-2d5b8a6c4e10", "eee19b7ec3c1b174"];

const time = fc.oneof(
  fc.constantFrom<string | number>(
    "2026-04-10T09:00:00Z",
    "2026-04-10T09:00:00.123456+02:00",
    "2026-04-10 09:00",
    "1900-01-01T00:00:00Z",
    "1969-12-31T23:59:59.999999Z",
    "2262-04-11T23:47:16.854776Z",
    "2299-12-31T23:59:59.999999Z",
    0,
    -1,
    1775811600.25,
    "1775811600",
  ),
  fc.integer({ min: 0, max: 4_000_000_000 }),
);

const field = fc.oneof(
  fc.constantFrom("id", "trace_id", "parent_id", "op_name", "display_name", "started_at", "ended_at", "exception"),
  fc.constantFrom(
    "wb_run_step",
    "deleted_at",
    "inputs.a",
    "output",
    "output.a.b",
    "attributes.a\\.b",
    "summary.usage.gpt",
  ),
  fc.constantFrom(
    "summary.weave.status",
    "summary.weave.latency_ms",
    "summary.weave.trace_name",
    "inputs.0.a",
    "val.a",
  ),
  fc.constantFrom(
    "feedback.[*].payload.x",
    "annotation_queue_items.queue_id",
    "storage_size_bytes",
    "nonsense",
    "created_at",
    "object_id",
  ),
);

/** Words for the properties and parameters of the spec, by name. */
export function wordsOf({ project_id, object, table, rows, file }: Seeded): Words {
  const [entity = "", project = ""] = project_id.split("/");
  const id = fc.oneof(fc.constantFrom(...sharedIds), fc.uuid());
  const refs = [
    `weave:///${project_id}/object/questions:${object}`,
    `weave:///${project_id}/object/questions:${object}/attr/rows/id/${rows[0] ?? ""}/key/a`,
    `weave:///${project_id}/object/questions:latest`,
    `weave:///${project_id}/table/${table}`,
    `weave:///${project_id}/call/a`,
    `weave:///rival/p/object/questions:${object}`,
    `weave:///${project_id}/op/op:*`,
  ];
  const digest = fc.oneof(
    fc.constantFrom(object, table, file, "latest", "v0", "v1", "production"),
    fc.stringMatching(/^[A-Za-z0-9]{43}$/),
  );
  const byName: Record<string, fc.Arbitrary<unknown>> = {
    entity: fc.constant(entity),
    project: fc.constant(project),
    op_name: fc.constantFrom("op", "answer", ...refs),
    op_names: fc.constantFrom("op", "answer", ...refs),
    object_id: fc.constantFrom("questions", "o1", "o2"),
    object_ids: fc.constantFrom("questions", "o1", "o2"),
    row_digests: fc.constantFrom(...rows),
    aliases: fc.constantFrom("production", "best one", "latest", "v1"),
    tags: fc.constantFrom("reviewed", "two words", "ä"),
    refs: fc.constantFrom(...refs),
    ref: fc.constantFrom(...refs),
    columns: field,
    expand_columns: fc.constantFrom("inputs.a", "output", "inputs"),
    $getField: field,
    field,
    timezone: fc.constantFrom("UTC", "Europe/Berlin", "Asia/Kathmandu", "Mars/Olympus"),
    start: time,
    end: time,
    "X-Weave-Retry-Id": fc.uuid(),
  };
  return (name) => {
    if (/^project_ids?$/.test(name)) return fc.constant(project_id);
    if (byName[name] !== undefined) return byName[name];
    if (name.endsWith("_at")) return time;
    if (/digests?$/.test(name)) return digest;
    if (/(^|_)ids?$/.test(name)) return id;
    if (/refs?$/.test(name)) return fc.constantFrom(...refs);
    return undefined;
  };
}
