import * as fc from "fast-check";
import type { RequestParts, SpecOperation } from "../spec-requests.js";
import type { Words } from "./from-schema.js";
import { seededObjects } from "./seed.js";
import type { Seeded } from "./seed.js";

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

const objectKinds = new Set(["ops", "datasets", "scorers", "models", "evaluations"]);

/** A day in which most calls began, so that ranges of time meet some. */
const range = { start: "2026-04-10T00:00:00Z", end: "2026-04-11T00:00:00Z" };

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
    "summary.weave.kind",
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

const costField = fc.constantFrom(
  "id",
  "llm_id",
  "provider_id",
  "effective_date",
  "prompt_token_cost",
  "completion_token_cost",
  "prompt_token_cost_unit",
);

const feedbackField = fc.oneof(
  fc.constantFrom("id", "weave_ref", "creator", "created_at", "feedback_type", "trigger_ref", "queue_id"),
  fc.constantFrom("payload", "payload.a", "payload.a.0.b", "payload.a\\.b", "scorer_tags", "scorer_ratings.a"),
);

/** Whether what has them is trained. */
const trainFlags = ["weight", "train", "trainable", "loss_mask"];

/** Mostly one of these, now and then one that is refused. */
function mostly<Value>(good: fc.Arbitrary<Value>, ...refused: Value[]): fc.Arbitrary<Value> {
  return fc.oneof({ arbitrary: good, weight: 15 }, fc.constantFrom(...refused));
}

/**
 * Words for the properties and parameters of an operation, by name: those of its sample, and for names that many
 * operations share some that are odd or refused. Most requests made of them are accepted.
 */
export function wordsOf(
  { project_id, object, table, rows, file }: Seeded,
  { id: operation, group }: SpecOperation,
  sample: RequestParts,
): Words {
  const samples = valuesByName(sample);
  const [entity = "", project = ""] = project_id.split("/");
  const id = fc.oneof(fc.constantFrom(...sharedIds), fc.uuid());
  const objects = [
    `weave:///${project_id}/object/questions:${object}`,
    `weave:///${project_id}/object/questions:${object}/attr/rows/id/${rows[0] ?? ""}/key/a`,
    `weave:///${project_id}/object/questions:latest`,
  ];
  const others = [
    `weave:///${project_id}/table/${table}`,
    `weave:///${project_id}/call/a`,
    `weave:///rival/p/object/questions:${object}`,
    `weave:///${project_id}/op/op:*`,
  ];
  const ref = fc.constantFrom(...objects, ...others);
  const contents = group === "tables" ? [table] : group === "files" ? [file] : [object, object, "latest"];
  const digest = mostly(fc.constantFrom(...contents), "production", "v0", "v1", "z".repeat(43), object, table, file);
  // What an object once was it must stay, so new ones need names of their own.
  const fresh = fc.stringMatching(/^[a-z0-9]{1,10}$/);
  // Operations of one kind of object find theirs, which the sample names, and nothing else.
  const stored = (objectKinds.has(group) ? samples.get("object_id") : undefined) ?? seededObjects;
  const objectId = mostly<unknown>(operation === "objCreate" ? fresh : fc.constantFrom(...stored), "n1", "n2");
  const byName: Record<string, fc.Arbitrary<unknown>> = {
    entity: fc.constant(entity),
    project: fc.constant(project),
    op_name: fc.constantFrom("op", "answer", ...objects, ...others),
    op_names: fc.constantFrom("op", "answer", ...objects, ...others),
    object_id: objectId,
    object_ids: fc.constantFrom(...seededObjects, "n1"),
    builtin_object_class: mostly(fc.constantFrom("Leaderboard", "Provider", "SavedView"), "Spreadsheet"),
    set_base_object_class: mostly(fc.constantFrom("Leaderboard", "ActionSpec"), "Spreadsheet"),
    row_digests: mostly(fc.constantFrom(...rows), "z".repeat(43)),
    expected_digest: mostly(fc.constant(undefined), object, file),
    aliases: mostly(fc.constantFrom("production", "best one", "staging", "a.b", "ä"), "latest", "v1"),
    tags: mostly(fc.constantFrom("reviewed", "two words", "a-b", "B2"), "ä", "a\n"),
    refs: operation === "refsReadBatch" ? mostly(fc.constantFrom(...objects), ...others) : ref,
    ref,
    columns: field,
    expand_columns: fc.constantFrom("inputs.a", "output", "inputs"),
    $getField: field,
    field,
    display_name: fc.constantFrom("a", "Zoë", "", "two words"),
    limit: mostly(fc.integer({ min: 1, max: 50 }), 0, -1, 2 ** 53),
    offset: mostly(fc.integer({ min: 0, max: 5 }), -1, 2 ** 53),
    index: mostly(fc.constantFrom(0, 1), 2, 50, -1),
    after: mostly<string | undefined>(fc.constant(undefined), ...sharedIds),
    timezone: mostly(fc.constantFrom("UTC", "Europe/Berlin", "Asia/Kathmandu"), "Mars/Olympus"),
    start: fc.oneof({ arbitrary: fc.constant(range.start), weight: 6 }, time),
    end: fc.oneof({ arbitrary: fc.constant(range.end), weight: 6 }, time),
    "X-Weave-Retry-Id": fc.uuid(),
    ...Object.fromEntries(trainFlags.map((name) => [name, mostly<unknown>(fc.constantFrom(0, 1, true, false), 0.5)])),
  };
  if (group === "costs") Object.assign(byName, costWords());
  if (group === "feedback") Object.assign(byName, feedbackWords(project_id));
  return (name) => {
    if (/^project_ids?$/.test(name)) return fc.constant(project_id);
    if (Object.hasOwn(byName, name)) return byName[name];
    if (name.endsWith("_at")) return time;
    if (/digests?$/.test(name)) return digest;
    const examples = samples.get(name);
    const sampled = examples === undefined ? [] : [fc.constantFrom(...examples)];
    // Only one of them leads anywhere.
    if (examples !== undefined && /^((queue|item|model|training_job)_id|scorer_refs)$/.test(name))
      return mostly(fc.constantFrom(...examples), "none");
    if (/(^|_)ids?$/.test(name)) return fc.oneof(...sampled, id);
    if (/refs?$/.test(name)) return fc.oneof(...sampled, ref);
    return sampled[0];
  };
}

function costWords(): Record<string, fc.Arbitrary<unknown>> {
  const anyField = mostly(costField, "created_by", "nonsense");
  return { fields: anyField, $getField: anyField, field: anyField };
}

/** Most types have no refs but that of what the feedback is about. */
function feedbackWords(projectId: string): Record<string, fc.Arbitrary<unknown>> {
  const target = fc.constantFrom(
    `weave:///${projectId}/call/a`,
    `weave:///${projectId}/call/b`,
    `weave:///${projectId}/object/questions:latest`,
    `weave:///${projectId}/agent_turn/t`,
  );
  const rarely = (ref: string) => mostly<string | undefined>(fc.constant(undefined), ref);
  const id = fc.oneof({ arbitrary: fc.uuid(), weight: 3 }, fc.constantFrom(...sharedIds));
  const anyField = mostly(feedbackField, "inputs.a", "call_id", "nonsense");
  return {
    id,
    feedback_id: id,
    queue_id: rarely("0199d3a4-5c00-7e21-8b44-1f6a9c3d2e78"),
    weave_ref: mostly(target, "weave:///rival/p/call/a", "a"),
    feedback_type: mostly(
      fc.constantFrom("quality", "a.b", "wandb.agent_user_feedback"),
      "wandb.note.1",
      "wandb.reaction.1",
      "wandb.annotation.questions",
      "wandb.runnable.questions",
    ),
    annotation_ref: rarely(`weave:///${projectId}/object/questions:latest`),
    runnable_ref: rarely(`weave:///${projectId}/object/questions:latest`),
    call_ref: rarely(`weave:///${projectId}/call/a`),
    trigger_ref: rarely(`weave:///${projectId}/object/questions:*`),
    fields: anyField,
    field: anyField,
    $getField: anyField,
    json_path: fc.constantFrom("a", "a.b", "output.score", "0", "a\\.b"),
    time_bucket_seconds: mostly(fc.constantFrom(60, 3600, 86_400), 0),
    after_ms: mostly(fc.constantFrom(1_775_779_200_000, 0), 2 ** 53),
    before_ms: mostly(fc.constantFrom(1_775_865_600_000, 1_790_000_000_000), -1),
  };
}

/** Texts and numbers of a sample request by the names of their properties and parameters. */
export function valuesByName({ params, body }: RequestParts): Map<string, unknown[]> {
  const found = new Map<string, unknown[]>();
  const visit = (value: unknown, name: string): void => {
    if (typeof value === "string" || typeof value === "number") found.set(name, [...(found.get(name) ?? []), value]);
    else if (Array.isArray(value)) for (const item of value) visit(item, name);
    else if (typeof value === "object" && value !== null)
      for (const [key, inner] of Object.entries(value)) visit(inner, key);
  };
  visit(params, "");
  visit(body, "");
  return found;
}
