import { statedFields } from "@heddle/trace-model";
import type { StatedField, StatedValues } from "@heddle/trace-model";

/** The columns that are not named like their field. */
const renamed = { wb_user_id: "user_id", wb_run_id: "run_id", wb_run_step: "run_step" } as const;

type ColumnOf<Field extends StatedField> = Field extends keyof typeof renamed ? (typeof renamed)[Field] : Field;
export type StatedColumn = ColumnOf<StatedField>;

interface Stated {
  /** The name in the API. */
  field: StatedField;
  column: StatedColumn;
  type: (typeof statedFields)[StatedField];
}

/** The columns of what a start may state; one that is not stated is '', and NULL where it is an integer. */
export const statedColumns: readonly Stated[] = (Object.keys(statedFields) as StatedField[]).map((field) => ({
  field,
  column: columnOf(field),
  type: statedFields[field],
}));

function columnOf(field: StatedField): StatedColumn {
  return Object.hasOwn(renamed, field) ? renamed[field as keyof typeof renamed] : (field as StatedColumn);
}

/** The column of each field. */
export const statedSources = Object.fromEntries(statedColumns.map(({ field, column }) => [field, column])) as {
  [Field in StatedField]: ColumnOf<Field>;
};

/** The stated columns of a row, as JSON has them. */
export type StatedRow = Partial<Record<StatedColumn, string | null>>;

/** What the columns of a row state, by the names of the API. Written out: this is done for every call that is read. */
export function readStated<Absent>(row: StatedRow, absent: Absent): StatedValues<Absent> {
  return {
    parent_id: row.parent_id || absent,
    thread_id: row.thread_id || absent,
    turn_id: row.turn_id || absent,
    wb_user_id: row.user_id || absent,
    wb_run_id: row.run_id || absent,
    wb_run_step: row.run_step ? Number(row.run_step) : absent,
  };
}

/** A value of each stated column. */
export function eachStated<Value>(valueOf: (stated: Stated) => Value): Record<StatedColumn, Value> {
  return Object.fromEntries(statedColumns.map((stated) => [stated.column, valueOf(stated)])) as Record<
    StatedColumn,
    Value
  >;
}
