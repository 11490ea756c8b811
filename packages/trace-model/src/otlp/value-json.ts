import { pythonFloat } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";

/** Text stays text, as it may hold JSON of its own; every other value is kept as JSON text, exact to the digit. */
export type AttributeValue = string | { json: JsonText };

/** Values of values of values…: what is nested deeper is not read. */
export const maxValueNesting = 64;
export const tooDeep = `values nested more than ${maxValueNesting} deep are not read`;

/** A value as JSON text. */
export function valueJson(value: AttributeValue): string {
  return typeof value === "string" ? textJson(value) : value.json;
}

/** JSON.stringify, which takes several times as long to find that there is nothing to escape. */
export function textJson(text: string): string {
  return mayNeedEscapes.test(text) ? JSON.stringify(text) : `"${text}"`;
}

/** Quotes, backslashes, control characters and surrogates. */
const mayNeedEscapes = /[^ !#-[\]-\ud7ff\ue000-\uffff]/;

/** A double keeps its `.0`, so that it stays one; JSON has no NaN and no infinities. */
export function jsonNumber(value: number): string {
  return Number.isFinite(value) ? pythonFloat(value) : "null";
}
