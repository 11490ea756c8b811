import { jsonType, objectEntries } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import type { ApiSchemas } from "../api-schemas.js";
import type { StoreContext } from "../context.js";
import { Parameters } from "../engine/parameters.js";
import { newestRows } from "../schema/read-table.js";
import { checkRange, inRange } from "./range.js";
import type { FeedbackPayloadSchemaRequest } from "./requests.js";

export type PayloadPath = Required<ApiSchemas["FeedbackPayloadPath"]>;

const usualSample = 2000;
const maxPaths = 10_000;

/** The paths of the values in the newest payload for each trigger, sorted, with what the values are. */
export async function payloadSchema(
  { engine, now }: StoreContext,
  request: FeedbackPayloadSchemaRequest,
  signal?: AbortSignal,
): Promise<PayloadPath[]> {
  const selection = { ...request, end: request.end ?? now() };
  checkRange(selection);
  const p = new Parameters();
  const limit = p.bind("UInt64", request.sample_limit ?? usualSample);
  const sql = `SELECT argMax(payload, (created_at, id)) AS newest FROM ${newestRows("feedback")}
    WHERE ${inRange(p, selection)} GROUP BY trigger_ref ORDER BY max(created_at) DESC LIMIT ${limit}`;
  const types = new Map<string, PayloadPath["value_type"]>();
  for await (const { newest } of engine.stream<{ newest: JsonText }>({ sql, params: p }, { signal })) {
    collectPaths(newest, "", types);
  }
  return [...types]
    .map(([path, type]) => ({ json_path: path, value_type: type }))
    .toSorted((a, b) => (a.json_path < b.json_path ? -1 : 1));
}

/** Adds the leaves of an object. Lists, and keys that a dotted path cannot name, are left out. */
function collectPaths(object: JsonText, prefix: string, types: Map<string, PayloadPath["value_type"]>): void {
  for (const { key, value } of objectEntries(object)) {
    if (key === "" || key.includes(".")) continue;
    const path = prefix + key;
    const type = jsonType(value);
    if (type === "object") collectPaths(value, `${path}.`, types);
    else if (type !== "array") {
      const found = valueTypes[type];
      const known = types.get(path);
      if (known !== undefined || types.size < maxPaths) {
        types.set(path, known === undefined ? found : commonType(known, found));
      }
    }
  }
}

/** Of numbers and booleans there is a mean, for which booleans are 1 and 0. */
function commonType(a: PayloadPath["value_type"], b: PayloadPath["value_type"]): PayloadPath["value_type"] {
  if (a === b) return a;
  return a === "categorical" || b === "categorical" ? "categorical" : "numeric";
}

const valueTypes = {
  boolean: "boolean",
  number: "numeric",
  string: "categorical",
  null: "categorical",
} as const;
