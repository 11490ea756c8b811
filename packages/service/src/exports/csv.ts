import { stringValue } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";

/** A line of CSV (RFC 4180), with the names of columns or other text. */
export const csvLine = (cells: readonly string[]): string => `${cells.map(csvCell).join(",")}\r\n`;

/** A line of values: strings as they are, other JSON as its text, nothing as an empty cell. */
export const csvRow = (values: ReadonlyArray<JsonText | undefined>): string =>
  csvLine(values.map((value) => (value === undefined ? "" : (stringValue(value) ?? value))));

const number = /^[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?$/;

/**
 * What a spreadsheet would run as a formula gets a quote in front, by which it shows the rest as text. Some take characters of full
 * width for the others.
 */
function csvCell(text: string): string {
  const safe = /^[=+\-@＝＋－＠\t\r\n]/.test(text) && !number.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
