import type { JsonText } from "@heddle/exact-json";
import { columnsOf, Variables } from "../llm-models/variables.js";
import type { Scored } from "./scorer.js";

/** What templates and scorers read by name; of equal names, `output`, columns of the row and inputs win in this order. */
export function scoredVariables(
  { row, inputs, output, call }: Scored,
  columnMap: Readonly<Record<string, string>>,
): Variables {
  const columns = columnsOf(row ?? inputs);
  const values = new Map<string, JsonText>([
    ["inputs", inputs],
    ["row", row ?? inputs],
    ...(call === undefined ? [] : [["call", call] as const]),
    ...columnsOf(inputs),
    ...columns,
    ["output", output],
  ]);
  const variables = new Variables(values);
  const mapped = Object.entries(columnMap).map(([name, source]): [string, JsonText] => [
    name,
    // A dataset may have a column that is called output, too.
    columns.get(source) ?? variables.need(source, `column_map of ${name}`),
  ]);
  return new Variables(new Map([...values, ...mapped]));
}
