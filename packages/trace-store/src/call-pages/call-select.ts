import { HeddleError, withLoc } from "@heddle/errors";
import { parseCallField } from "@heddle/trace-model";
import type { CallField } from "@heddle/trace-model";
import { pathPrice } from "../query/price.js";

/** The properties of a row that can be asked for by name, besides its key. */
const rowProperties = [
  "trace_id",
  "parent_id",
  "thread_id",
  "turn_id",
  "op_name",
  "name",
  "status",
  "ended_at",
  "latency_ms",
  "exception",
  "user",
  "tokens",
] as const;

export type RowProperty = (typeof rowProperties)[number];
/** A path into free JSON. */
export type Leaf = Extract<CallField, { kind: "json" }>;

/** What to return of each call. */
export interface CallSelect {
  properties: ReadonlySet<RowProperty>;
  leaves: readonly Leaf[];
}

/** They always come. */
const keys = new Set(["id", "seq", "started_at"]);

/**
 * Reads a list of names and paths; without one, all properties are meant. Throws `unprocessable`, with a loc that begins with
 * `select`, for what is neither.
 */
export function parseSelect(select: readonly string[] | undefined): CallSelect {
  if (select === undefined) return { properties: new Set(rowProperties), leaves: [] };
  const properties = new Set<RowProperty>();
  const leaves = new Map<string, Leaf>();
  for (const [index, text] of select.entries()) {
    if (keys.has(text)) continue;
    const property = rowProperties.find((name) => name === text);
    if (property !== undefined) properties.add(property);
    else
      leaves.set(
        text,
        withLoc(["select", index], () => parseLeaf(text)),
      );
  }
  return { properties, leaves: [...leaves.values()] };
}

function parseLeaf(text: string): Leaf {
  const field = parseCallField(text);
  if (field.kind === "json") return field;
  throw new HeddleError(
    "unprocessable",
    `rows have no ${text}; there are ${rowProperties.join(", ")}, and paths into inputs, output, attributes and summary`,
    { loc: [] },
  );
}

/** What the engine pays to plan the lookups of leaves. */
export function selectPrice({ leaves }: CallSelect): number {
  return leaves.reduce((sum, { path }) => sum + pathPrice(path), 0);
}
