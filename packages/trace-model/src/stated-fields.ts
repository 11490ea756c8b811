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

/** These fields of an object, and no others. Written out: this is done for every call that is written or read. */
export function statedOf<From extends Partial<Record<StatedField, unknown>>>(from: From): Pick<From, StatedField> {
  const { parent_id, thread_id, turn_id, wb_user_id, wb_run_id, wb_run_step } = from;
  return { parent_id, thread_id, turn_id, wb_user_id, wb_run_id, wb_run_step } satisfies Record<StatedField, unknown>;
}
