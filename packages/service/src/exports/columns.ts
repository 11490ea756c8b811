import { HeddleError, withLoc } from "@heddle/errors";
import type { JsonText } from "@heddle/exact-json";
import { formatTime, leavesAt, parseCallField, traceNameOf, wholeMilliseconds } from "@heddle/trace-model";
import type { JsonColumn } from "@heddle/trace-model";
import type { StoredCall } from "@heddle/trace-store";

/** What a column holds where columns have types. */
export type ColumnType = "text" | "time" | "integer";

/** A property of a call as a JSON value, and the stored columns that it is read from besides those that always come. */
interface Property {
  type?: ColumnType;
  from: readonly string[];
  of: (call: StoredCall, userName: string | undefined) => string | number | null;
}

const time = (at: bigint | null) => (at === null ? null : formatTime(at));

const properties: Readonly<Record<string, Property>> = {
  id: { from: [], of: ({ id }) => id },
  trace_id: { from: [], of: ({ trace_id }) => trace_id },
  parent_id: { from: ["parent_id"], of: ({ parent_id }) => parent_id },
  thread_id: { from: ["thread_id"], of: ({ thread_id }) => thread_id },
  turn_id: { from: ["turn_id"], of: ({ turn_id }) => turn_id },
  op_name: { from: [], of: ({ op_name }) => op_name },
  name: { from: ["display_name"], of: traceNameOf },
  status: { from: [], of: ({ status }) => status },
  started_at: { type: "time", from: [], of: ({ started_at }) => time(started_at) },
  ended_at: { type: "time", from: ["ended_at"], of: ({ ended_at }) => time(ended_at) },
  latency_ms: {
    type: "integer",
    from: [],
    of: ({ latency_us }) => (latency_us === null ? null : wholeMilliseconds(latency_us)),
  },
  exception: { from: ["exception"], of: ({ exception }) => exception },
  user: { from: ["wb_user_id"], of: ({ wb_user_id }, name) => name ?? wb_user_id },
};
const documents = ["inputs", "output", "attributes", "summary"];

interface Leaf {
  column: JsonColumn;
  path: readonly string[];
}

/** What an export writes of each call. */
export class Columns {
  /** As requested. */
  readonly names: readonly string[];
  /** Those of the store. */
  readonly stored: readonly string[];
  readonly #leaves: ReadonlyMap<number, Leaf>;

  /** Throws `unprocessable`, with a loc that begins with `select`, for a name that calls do not have. */
  constructor(select: readonly string[] | undefined) {
    this.names = select ?? [...Object.keys(properties), ...documents];
    const leaves = this.names.flatMap((name, at) =>
      Object.hasOwn(properties, name) ? [] : [[at, withLoc(["select", at], () => leafOf(name))] as const],
    );
    this.#leaves = new Map(leaves);
    const known = this.names.flatMap((name) => (Object.hasOwn(properties, name) ? (properties[name]?.from ?? []) : []));
    this.stored = [...new Set([...known, ...leaves.map(([, { column }]) => column)])];
  }

  get hasUser(): boolean {
    return this.names.includes("user");
  }

  /** In the order of the names; a value in a document can be anything. */
  get types(): readonly ColumnType[] {
    return this.names.map((name) => (Object.hasOwn(properties, name) ? properties[name]?.type : undefined) ?? "text");
  }

  /** JSON texts in the order of the names; undefined for what a call does not have. */
  valuesOf(call: StoredCall, userName: string | undefined): Array<JsonText | undefined> {
    const values = this.names.map((name, at) => {
      if (this.#leaves.has(at)) return undefined;
      const value = properties[name]?.of(call, userName);
      return value === null || value === undefined ? undefined : JSON.stringify(value);
    });
    for (const column of new Set(Array.from(this.#leaves.values(), (leaf) => leaf.column))) {
      const mine = [...this.#leaves].filter(([, leaf]) => leaf.column === column);
      const paths = mine.map(([, { path }]) => path);
      for (const [index, value] of leavesAt(call[column], paths).entries()) values[mine[index]?.[0] ?? -1] = value;
    }
    return values;
  }
}

function leafOf(name: string): Leaf {
  const field = parseCallField(name);
  if (field.kind === "json") return field;
  const known = [...Object.keys(properties), ...documents].join(", ");
  throw new HeddleError("unprocessable", `exports have no ${name}; there are ${known}, and paths into the last four`, {
    loc: [],
  });
}
