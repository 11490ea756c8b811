import type { CallRow } from "@heddle/client/tracing";
import { decodeString, forEachMember, jsonType } from "@heddle/exact-json";
import { formatCount } from "../ui/format.js";
import { visibleLine } from "../ui/visible-text.js";

/** A leaf of a call as a cell shows it. */
export interface ShownValue {
  text: string;
  /** Whether it is JSON that is not a string: numbers, lists… */
  isJson: boolean;
  /** Said where the text is not all of it. */
  rest?: string;
}

/** A call as the table reads it: its leaves are exact text. */
export interface TableRow extends Omit<CallRow, "values" | "feedback"> {
  values?: { readonly text: string };
}

const shownValues = new WeakMap<TableRow, Map<string, ShownValue>>();

/** The leaves that the page was asked for, by their paths, exactly as they were sent. */
export function valuesOf(row: TableRow): ReadonlyMap<string, ShownValue> {
  let values = shownValues.get(row);
  if (values !== undefined) return values;
  values = new Map();
  const { text = "{}" } = row.values ?? {};
  forEachMember(text, (path, from, to) => values?.set(path, shownValue(text.slice(from, to))));
  for (const [path, { text: beginning, chars }] of Object.entries(row.cut ?? {})) {
    values.set(path, {
      text: visibleLine(beginning),
      isJson: /^[[{]/.test(beginning),
      rest: `${formatCount(chars)} characters`,
    });
  }
  shownValues.set(row, values);
  return values;
}

/** Strings without their quotes. */
function shownValue(json: string): ShownValue {
  const isJson = jsonType(json) !== "string";
  return { text: visibleLine(isJson ? json : decodeString(json, 0, json.length)), isJson };
}
