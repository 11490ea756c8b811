import type { Query } from "@heddle/client/tracing";

export const operators = ["=", "≠", "contains", ">", "<"] as const;
export type Operator = (typeof operators)[number];

/** A condition on any field of calls, as `$getField` takes it. */
export interface WhereCondition {
  path: string;
  operator: Operator;
  value: string;
}

/** The most of an address. */
const mostConditions = 20;

/** What `[["inputs.user","=","ada"]]` says; what it does not say well is left out. */
export function readWhere(text = ""): WhereCondition[] {
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    return [];
  }
  if (!Array.isArray(given)) return [];
  const read = given.flatMap((entry: unknown): WhereCondition[] => {
    if (!Array.isArray(entry)) return [];
    const [path, operator, value] = entry as unknown[];
    const known = operators.find((name) => name === operator);
    return typeof path === "string" && path !== "" && known !== undefined && typeof value === "string"
      ? [{ path, operator: known, value }]
      : [];
  });
  return read.slice(0, mostConditions);
}

/** The text that {@link readWhere} reads; undefined for no conditions. */
export function writeWhere(conditions: readonly WhereCondition[]): string | undefined {
  if (conditions.length === 0) return undefined;
  return JSON.stringify(conditions.map(({ path, operator, value }) => [path, operator, value]));
}

/** With a condition more, once. */
export function withCondition(where: string | undefined, added: WhereCondition): string | undefined {
  const text = writeWhere([added]);
  return writeWhere([...readWhere(where).filter((condition) => writeWhere([condition]) !== text), added]);
}

/** Without the condition at this place. */
export const withoutCondition = (where: string | undefined, index: number): string | undefined =>
  writeWhere(readWhere(where).toSpliced(index, 1));

export type Expression = Query["$expr"];

/** The condition of the API. */
export function expressionOf({ path, operator, value }: WhereCondition): Expression {
  const field = { $getField: path };
  if (operator === "=") return equals(path, value);
  // What is missing is not equal either, which `$not` of nothing would not say of columns.
  if (operator === "≠") return { $not: [equals(path, value)] };
  if (operator === "contains")
    return { $contains: { input: field, substr: { $literal: value }, case_insensitive: true } };
  const operands: [typeof field, { $literal: string | number }] = [field, { $literal: comparable(value) }];
  return operator === ">" ? { $gt: operands } : { $lt: operands };
}

/** Fields compare as text, numbers among them without a trailing `.0`: both are meant, a text `1.0` and a number. */
function equals(path: string, value: string): Expression {
  const field = { $getField: path };
  const short = value.replace(/^(-?\d+)\.0+$/, "$1");
  if (short === value) return { $eq: [field, { $literal: value }] };
  return { $in: [field, [{ $literal: value }, { $literal: short }]] };
}

/** Numbers compare by size; other texts, such as times, as they are. */
const comparable = (value: string): string | number =>
  value.trim() !== "" && Number.isFinite(Number(value)) ? Number(value) : value;

/** The field that conditions on a user name. */
export const userPath = "wb_user_id";

/** The users that conditions name, each once. */
export const usersIn = (conditions: readonly WhereCondition[]): string[] => [
  ...new Set(
    conditions.flatMap(({ path, operator, value }) =>
      path === userPath && (operator === "=" || operator === "≠") ? [value] : [],
    ),
  ),
];

/** As a person says it: `inputs.city = Bergen`. Users are said by the names that are known for their ids: `user = ada`. */
export function whereWords({ path, operator, value }: WhereCondition, names?: ReadonlyMap<string, string>): string {
  return path === userPath ? `user ${operator} ${names?.get(value) ?? value}` : `${path} ${operator} ${value}`;
}
