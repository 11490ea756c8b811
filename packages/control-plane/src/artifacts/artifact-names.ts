import { HeddleError } from "@heddle/errors";
import type { Loc } from "@heddle/errors";

const nameRule = "must have 1 to 128 characters, all of them letters, digits, -, _ or .";

const labelRule = "must have 1 to 128 characters, none of them a slash, a colon or a control character";

/** Whether a collection can have the name: the rule of the library `wandb`. */
export function isArtifactName(name: string): boolean {
  return /^[A-Za-z0-9_.-]{1,128}$/.test(name) && name !== "." && name !== "..";
}

/** Whether a type or an alias can be the text. The library `wandb` lets people write them as they like. */
export function isArtifactLabel(text: string): boolean {
  return /^[^/:\p{Cc}\p{Surrogate}]{1,128}$/u.test(text) && text.trim() !== "" && text !== "." && text !== "..";
}

/** Throws `unprocessable`, with the loc given, for what can be no type. */
export function checkArtifactType(type: string, ...loc: Loc): void {
  if (!isArtifactLabel(type)) throw new HeddleError("unprocessable", `${loc.at(-1)} ${labelRule}`, { loc });
}

/** Throws `unprocessable`, with the loc given, for what can name no collection. */
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
 * Throws `unprocessable` for what cannot be an alias: besides the rule of labels, the forms of an index, `v0`, and of a
 * digest are reserved.
 */
export function checkAlias(alias: string, ...loc: Loc): void {
  const fail = (what: string) => new HeddleError("unprocessable", `an alias ${what}`, { loc });
  if (!isArtifactLabel(alias)) throw fail(labelRule);
  if (/^v\d+$/.test(alias)) throw fail("must not have the form of a version, v and a number");
  if (/^[0-9a-f]{64}$/.test(alias)) throw fail("must not have the form of a digest");
}
