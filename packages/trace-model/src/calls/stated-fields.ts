/**
 * Fields that a start may state, which are stored and returned as they came, with their types. What writes, reads and queries
 * calls goes by this table. The store keeps each in a column of its name, or of the name that its `statedColumns` give it.
 */
export const statedFields = {
  parent_id: "text",
  thread_id: "text",
  turn_id: "text",
  wb_user_id: "text",
  wb_run_id: "text",
  wb_run_step: "int",
} as const satisfies Record<string, "text" | "int">;

export type StatedField = keyof typeof statedFields;

type ValueOf<Field extends StatedField> = (typeof statedFields)[Field] extends "int" ? number : string;

/** The value of each field, or what stands for one that was not stated. */
export type StatedValues<Absent> = { [Field in StatedField]: ValueOf<Field> | Absent };

const names = Object.keys(statedFields) as StatedField[];

/** These fields of an object, and no others. */
export function statedOf<From extends Partial<Record<StatedField, unknown>>>(
  from: From,
): Pick<From, StatedField & keyof From> {
  const values: Partial<Record<StatedField, unknown>> = {};
  for (const name of names) values[name] = from[name];
  return values as Pick<From, StatedField & keyof From>;
}
