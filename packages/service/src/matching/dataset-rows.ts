import { HeddleError, withLoc } from "@heddle/errors";
import { objectText, stringMember } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import { leavesAt, parseCallField, parseRef, projectIdOf } from "@heddle/trace-model";
import type { JsonColumn } from "@heddle/trace-model";
import type { StoredCall, StoredObject } from "@heddle/trace-store";

/** A column of a dataset and where its values are in a call. */
export interface DatasetColumn {
  name: string;
  column: JsonColumn;
  path: readonly string[];
}

const whole = { inputs: "inputs", output: "output" };

/** Reads the columns of a request. Throws `unprocessable` for a path that does not lead into the JSON of a call. */
export function datasetColumns(columns: Readonly<Record<string, string>> = {}): DatasetColumn[] {
  const given = Object.keys(columns).length === 0 ? whole : columns;
  return Object.entries(given).map(([name, text]) => {
    const field = withLoc(["columns", name], () => parseCallField(text));
    if (field.kind === "json") return { name, column: field.column, path: field.path };
    const message = `${text} is not a path into inputs, output, attributes or summary`;
    throw new HeddleError("unprocessable", message, { loc: ["columns", name] });
  });
}

/** The row of a call, each value as it was sent; undefined when the call has none. */
export function datasetRow(call: StoredCall, columns: readonly DatasetColumn[]): JsonText | undefined {
  const values = new Map<DatasetColumn, JsonText>();
  for (const document of new Set(columns.map(({ column }) => column))) {
    const mine = columns.filter(({ column }) => column === document);
    const leaves = leavesAt(
      call[document],
      mine.map(({ path }) => path),
    );
    for (const [at, column] of mine.entries()) {
      const leaf = leaves[at];
      if (leaf !== undefined) values.set(column, leaf);
    }
  }
  if (values.size === 0) return undefined;
  return objectText(
    columns.flatMap((column) => {
      const value = values.get(column);
      return value === undefined ? [] : [[column.name, value] as const];
    }),
  );
}

/** The digest of the table with the rows of a dataset. Throws `unprocessable` when they are not a table of its project. */
export function tableOf(projectId: string, { val, object_id: name }: StoredObject): string {
  const ref = parseRef(stringMember(val, "rows") ?? "");
  if (ref?.kind === "table" && projectIdOf(ref) === projectId) return ref.digest;
  throw new HeddleError("unprocessable", `the rows of ${name} are not a table of this project`, { loc: ["object_id"] });
}
