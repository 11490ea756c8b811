import { memberOf, stringMember } from "@heddle/trace-model";
import type { JsonText } from "@heddle/trace-model";

/** Name of the source file in the value of an op or a model. */
export const sourceFile = "obj.py";

/** Returns the digest of the source file that a value names; undefined when it names none. */
export function sourceDigest(val: JsonText): string | undefined {
  return stringMember(memberOf(val, "files") ?? "null", sourceFile);
}
