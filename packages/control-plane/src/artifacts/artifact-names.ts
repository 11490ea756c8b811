import { HeddleError } from "@heddle/errors";
import type { Loc } from "@heddle/errors";

const nameRule = "must have 1 to 128 characters, all of them letters, digits, -, _ or .";

/** Whether a collection, a type or an alias can have the name. */
export function isArtifactName(name: string): boolean {
  return /^[A-Za-z0-9_.-]{1,128}$/.test(name) && name !== "." && name !== "..";
}

/** Throws `unprocessable`, with the loc given, for what can name no collection and no type. */
export function checkArtifactName(name: string, ...loc: Loc): void {
  if (!isArtifactName(name)) throw new HeddleError("unprocessable", `${loc.at(-1)} ${nameRule}`, { loc });
}

/** The alias that the newest version of a collection has. */
export const latestAlias = "latest";

/** Index of a version that is named `v<index>`. */
export function versionIndexOf(name: string): bigint | undefined {
  return /^v\d{1,15}$/.test(name) ? BigInt(name.slice(1)) : undefined;
}

/**
 * Throws `unprocessable` for what cannot be an alias: besides the rule of names, the forms of an index, `v0`, and of a
 * digest are reserved.
 */
export function checkAlias(alias: string, ...loc: Loc): void {
  const fail = (what: string) => new HeddleError("unprocessable", `an alias ${what}`, { loc });
  if (!isArtifactName(alias)) throw fail(nameRule);
  if (/^v\d+$/.test(alias)) throw fail("must not have the form of a version, v and a number");
  if (/^[0-9a-f]{64}$/.test(alias)) throw fail("must not have the form of a digest");
}
