import type { Operation } from "./contract.js";
import { withValueAt } from "./expressions.js";
import type { JsonSchema } from "./plan.js";
import type { RequestParts } from "./requests.js";
import type { Schemas } from "./schemas.js";

/** A change that makes a valid request invalid. */
export interface Mutation {
  name: string;
  /** What the server must respond with. */
  status: 413 | 422;
  /** Location that a response 422 names. */
  loc: readonly (string | number)[];
  parts: (request: RequestParts) => RequestParts;
}

/** Longest text and list that are made to exceed a limit. */
const maxLength = 20_000;
const maxItems = 5_000;
/** Values of every type; the first that a schema refuses is one of a wrong type. */
const candidates: readonly unknown[] = [{ wrong: true }, "wrong type", [["wrong"]], 0.5, true];

/** Every change of the body by one rule of its schema: each required property missing, each limit exceeded, and so on. */
export function mutationsOf({ body, schemas }: Operation, example: unknown): Mutation[] {
  if (body?.schema === undefined) return [];
  const { schema } = body;
  const found: Mutation[] = [];
  const add = (what: string, pointer: string, changed: unknown, status: Mutation["status"] = 422): void => {
    const mutated = withValueAt(example, pointer, changed);
    // What the change leads to is decided by the schema of the whole body: a choice between shapes may allow it.
    if (status === 422 && schemas.violation(schema, mutated) === undefined) return;
    const loc = ["body", ...pointer.split("/").slice(1)];
    found.push({ name: `${loc.join(".")} ${what}`, status, loc, parts: () => ({ body: mutated }) });
  };
  visit(schema, example, "", { schemas, add });
  return found;
}

interface Visit {
  schemas: Schemas;
  add: (what: string, pointer: string, changed: unknown, status?: Mutation["status"]) => void;
}

function visit(given: JsonSchema, value: unknown, pointer: string, context: Visit): void {
  const { schemas, add } = context;
  const schema = schemas.resolved(given);
  const { properties = {}, required = [], additionalProperties, items } = schema;
  if (pointer !== "") exceed(given, schema, value, pointer, context);
  if (schema["x-heddle-raw-json"]) return;
  if (Array.isArray(value)) {
    if (items !== undefined && value.length > 0) visit(items, value[0], `${pointer}/0`, context);
    return;
  }
  if (typeof value !== "object" || value === null) return;
  const record = value as Record<string, unknown>;
  for (const [name, part] of Object.entries(properties)) {
    const at = `${pointer}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    if (required.includes(name) && name in record) add("missing", at, undefined);
    if (name in record) visit(part, record[name], at, context);
    // Properties that the example does not have are set at the top only: deeper ones may contradict each other.
    else if (pointer === "") exceed(part, schemas.resolved(part), undefined, at, context);
  }
  if (additionalProperties === false) add("unknown", `${pointer}/no_such_key`, 1);
}

function exceed(given: JsonSchema, schema: JsonSchema, value: unknown, pointer: string, { schemas, add }: Visit): void {
  const wrong = candidates.find((candidate) => schemas.violation(given, candidate) !== undefined);
  if (wrong !== undefined) add("of a wrong type", pointer, wrong);
  const number = (keyword: string) => (typeof schema[keyword] === "number" ? schema[keyword] : undefined);
  const [longest, shortest] = [number("maxLength"), number("minLength")];
  if (longest !== undefined && longest < maxLength) add("over its length", pointer, "x".repeat(longest + 1));
  if (shortest !== undefined && shortest > 0) add("below its length", pointer, "x".repeat(shortest - 1));
  const [most, least] = [number("maximum"), number("minimum")];
  if (most !== undefined) add("over its limit", pointer, most + 1);
  if (least !== undefined) add("below its limit", pointer, least - 1);
  if (Array.isArray(schema["enum"])) add("of no choice", pointer, "no-such-choice");
  const pattern = schema["pattern"];
  if (typeof pattern === "string") add("of another pattern", pointer, "\u00e4 / \u00e4");
  if (!Array.isArray(value) || value.length === 0) return;
  const [fewest, mostItems, mostAccepted] = [number("minItems"), number("maxItems"), number("x-heddle-max-items")];
  const repeated = (count: number) => Array.from({ length: count }, () => value[0] as unknown);
  if (fewest !== undefined && fewest > 0) add("with too few items", pointer, repeated(fewest - 1));
  if (mostItems !== undefined && mostItems < maxItems) add("with too many items", pointer, repeated(mostItems + 1));
  if (mostAccepted !== undefined && mostAccepted < maxItems) {
    add("with more items than a request may have", pointer, repeated(mostAccepted + 1), 413);
  }
}
