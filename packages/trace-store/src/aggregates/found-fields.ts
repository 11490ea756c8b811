import type { CallField } from "@heddle/trace-model";
import type { SelectionContext } from "../call-reading/selection.js";
import type { ReadOptions } from "../context.js";
import { sentValues } from "./sent-values.js";

type FieldType = "string" | "number" | "boolean" | "object" | "list" | "null";

export interface FoundField {
  path: string;
  types: FieldType[];
  /** How many calls have it. */
  present: number;
  /** Values that most calls have there, as text. */
  top: Array<{ value: string; count: number }>;
}

export const mostFields = 500;
const topValues = 10;
const topValuesOfPath = 100;
/** The most characters of a value. */
export const valueCharacters = 200;

/** So many values of each field are shown. */
export const mostValues = (path: string | undefined): number => (path === undefined ? topValues : topValuesOfPath);

/** Where members, or a value, are looked for. */
export interface Root {
  field: CallField;
  /** The members below it; else the field itself. */
  isParent: boolean;
}

/** What a statement found of a member of a root. */
export interface FoundRow {
  /** Place of the root, or {@link everyCall} for a row about all calls. */
  d: number;
  name: string;
  types: string[];
  present: string;
  /** Each with a call that has it. */
  top: Array<[value: string, count: string, us: string, id: string]>;
  us: string;
  last_id: string;
}

export const everyCall = -1;

const types: Readonly<Record<string, FieldType>> = {
  String: "string",
  Int64: "number",
  UInt64: "number",
  Double: "number",
  Bool: "boolean",
  Object: "object",
  Array: "list",
};

/** A field of which several statements found something. */
interface Found {
  field: CallField;
  /** The name of a member of the field. */
  member: string | undefined;
  types: Set<FieldType>;
  present: number;
  values: Map<string, { count: number; us: string; id: string }>;
}

/** What several statements found. */
export class Findings {
  sampled = 0;
  readonly #found = new Map<string, Found>();

  constructor(readonly request: { project_id: string; path?: string | undefined }) {}

  add(rows: readonly FoundRow[], roots: readonly Root[]): void {
    for (const row of rows) {
      if (row.d === everyCall) {
        this.sampled += Number(row.present);
        continue;
      }
      const { field, isParent } = roots[row.d] ?? {};
      if (field === undefined) continue;
      const path = isParent === true ? `${field.text}.${row.name.replaceAll(".", String.raw`\.`)}` : field.text;
      const member = isParent === true ? row.name : undefined;
      const known: Found = this.#found.get(path) ?? { field, member, types: new Set(), present: 0, values: new Map() };
      this.#found.set(path, known);
      known.present += Number(row.present);
      for (const type of row.types) known.types.add(types[type] ?? "null");
      for (const [value, count, us, id] of row.top)
        known.values.set(value, { us, id, count: (known.values.get(value)?.count ?? 0) + Number(count) });
    }
  }

  /** Values are as they were sent. */
  async fields(context: SelectionContext, options: ReadOptions): Promise<FoundField[]> {
    const most = mostValues(this.request.path);
    const fields = [...this.#found]
      .toSorted(([a, { present: ofA }], [b, { present: ofB }]) => ofB - ofA || (a < b ? -1 : 1))
      .slice(0, mostFields)
      .map(([path, { types: kinds, present, values, field, member }]) => ({
        found: { path, types: [...kinds].toSorted(), present },
        at:
          field.kind === "json"
            ? { column: field.column, path: [...field.path, ...(member === undefined ? [] : [member])] }
            : undefined,
        top: [...values]
          .map(([text, value]) => ({ text, ...value }))
          .toSorted((a, b) => b.count - a.count || (a.text < b.text ? -1 : 1))
          .slice(0, most),
      }));
    const printed = fields.flatMap(({ at, top }) =>
      at === undefined ? [] : top.map((value) => ({ ...value, ...at })),
    );
    const sent = await sentValues(context, this.request.project_id, printed, {
      ...options,
      characters: valueCharacters,
    });
    return fields.map(({ found, at, top }) => {
      const texts = at === undefined ? [] : sent.splice(0, top.length);
      return { ...found, top: top.map(({ text, count }, index) => ({ value: texts[index] ?? text, count })) };
    });
  }
}
