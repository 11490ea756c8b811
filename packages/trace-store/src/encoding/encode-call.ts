import type { CallEnd, CallStart } from "@heddle/trace-model";
import type { CallKey } from "../stored-calls/call-key.js";
import { endSide, startSide } from "../stored-calls/call-sides.js";
import type { EndSide, StartSide } from "../stored-calls/call-sides.js";
import { completeCallRow } from "../stored-calls/rows.js";
import { WrittenFields } from "../stored-calls/written-fields.js";

/** What a part says of a call: its start, its end, or both. */
export interface CallSides {
  key: CallKey;
  start: CallStart | undefined;
  end: CallEnd | undefined;
}

/** The same as it is to be stored. */
export interface EncodedCall {
  start?: StartSide;
  end?: EndSide;
  /** The whole row, when both sides are here; it waits for its version. */
  row?: Buffer;
}

export function encodeCall({ key, start, end }: CallSides): EncodedCall {
  if (start !== undefined && end !== undefined) return completeCallRow(key, start, end);
  return start === undefined ? { end: end && endSide(end) } : { start: startSide(start) };
}

/** An encoded call as plain data: its sides are parts of `bytes`. */
export interface PackedCall {
  bytes: Uint8Array;
  isRow: boolean;
  start: PackedSide<StartSide> | undefined;
  end: PackedSide<EndSide> | undefined;
}

type PackedSide<Side> = Omit<Side, "fields"> & { from: number; to: number };

export function packCall({ start, end, row }: EncodedCall): PackedCall {
  const bytes = row ?? start?.fields.bytes ?? end?.fields.bytes ?? new Uint8Array();
  return { bytes, isRow: row !== undefined, start: start && packSide(start), end: end && packSide(end) };
}

function packSide<Side extends { fields: WrittenFields }>({ fields, ...facts }: Side): PackedSide<Side> {
  return { ...facts, ...fields.span };
}

export function unpackCall({ bytes, isRow, start, end }: PackedCall): EncodedCall {
  const row = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  return {
    ...(start && { start: { ...start, fields: new WrittenFields(row, start.from, start.to) } }),
    ...(end && { end: { ...end, fields: new WrittenFields(row, end.from, end.to) } }),
    ...(isRow && { row }),
  };
}
