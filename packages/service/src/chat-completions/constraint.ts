import type { Loc } from "@heddle/errors";
import type { StructuredOutput } from "@heddle/structured-outputs";

/** What the text of a completion must follow, and the field of the request that says so. */
export interface Constraint {
  output: StructuredOutput;
  loc: Loc;
  /** For a structural tag that the request does not have as such: the fields of the schemas of its tags. */
  schemaLocs?: readonly Loc[];
}
