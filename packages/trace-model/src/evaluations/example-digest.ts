import { valueDigest } from "../digest.js";
import { memberOf, readable, storable, stringValue } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import { opNamePart } from "../refs/op-name.js";

const predictAndScore = /\.(?:predict_and_score|predictAndScore)$/;
/** The row of a dataset, or of a table itself. */
const rowRef = /^weave:\/\/\/.*\/(?:attr\/rows|table\/[^/]+)\/id\/([^/]+)$/;

/**
 * Returns the digest of the row of data that a call with the op `<evaluation>.predict_and_score` is about, '' for any
 * other call. A ref to a row of a dataset or table has it at its end; a row that is an input itself has the digest that a table
 * gives it. So trials of one row have one digest, whichever form their client used.
 */
export function exampleDigest(opName: string, inputs: JsonText): string {
  // Most calls are no such calls: this is asked of each one that is stored.
  if (!opName.includes("redict") || !predictAndScore.test(opNamePart(opName))) return "";
  const example = memberOf(inputs, "example") ?? "null";
  const digest = rowRef.exec(stringValue(example) ?? "")?.[1];
  if (digest !== undefined) return digest;
  // Of the text that is kept, so that a call that is read back and written again has the same one.
  const { text, exact } = storable(example);
  return valueDigest(readable(text, exact));
}
