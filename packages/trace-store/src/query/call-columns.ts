import type { CallField } from "@heddle/trace-model";
import { statedSources } from "../stored-calls/stated-columns.js";
import { displayName } from "../visibility/display-names.js";

type ColumnField = Extract<CallField, { kind: "column" }>;
type ComputedField = Extract<CallField, { kind: "weave" }>;

/** The stored column of each field; optional text is kept as ''. */
const columns: Readonly<Record<ColumnField["name"], string>> = {
  ...statedSources,
  id: "id",
  project_id: "project_id",
  trace_id: "trace_id",
  op_name: "op_name",
  display_name: displayName,
  started_at: "started_at",
  ended_at: "ended_at",
  exception: "exception",
  wb_run_step_end: "run_step_end",
  deleted_at: "CAST(NULL, 'Nullable(DateTime64(6))')",
};

/** The readable part of an op name, as `opNamePart` of the trace model defines it. */
export const opNamePart =
  "if(startsWith(op_name, 'weave:///'), decodeURLComponent(splitByChar(':', splitByChar('/', op_name)[-1])[1]), toString(op_name))";

/**
 * What a call is: what its attributes state, else a model when it used tokens itself, a scorer by the name of its op, or
 * other. So calls that were stored before kinds were have one as well.
 */
const callKind =
  "multiIf(stated_kind != '', toString(stated_kind), notEmpty(`usage.model`), 'model', endsWith(op_key, '.score'), 'scorer', 'other')";

const computed: Readonly<Record<ComputedField["name"], string>> = {
  status: "toString(status)",
  latency_ms: "intDiv(latency_us, 1000)",
  trace_name: `if(${displayName} != '', ${displayName}, ${opNamePart})`,
  kind: callKind,
};

/** The stored text or value of a column, '' where an optional text is absent. */
export function storedColumn(field: ColumnField): string {
  return columns[field.name];
}

/** The value of a column or a computed field: NULL where it is absent, as any other field is here. */
export function fieldValue(field: CallField): string {
  if (field.kind === "weave") return computed[field.name];
  if (field.kind === "op_text") return opNamePart;
  if (field.kind !== "column") return "CAST(NULL, 'Nullable(String)')";
  const column = columns[field.name];
  return field.nullable && field.type === "text" ? `nullIf(${column}, '')` : column;
}

/** True when the field needs the renames of calls. */
export function needsNames(field: CallField): boolean {
  if (field.kind === "weave") return field.name === "trace_name";
  return field.kind === "column" && field.name === "display_name";
}
