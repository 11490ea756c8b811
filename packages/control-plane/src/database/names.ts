import { HeddleError } from "@heddle/errors";

// No backend keeps these unchanged: Postgres refuses U+0000, SQLite cuts the text there, and neither has lone
// surrogates.
const unstorable = /[\p{Cc}\p{Surrogate}]/u;

/**
 * Returns the name of a user, entity, project or key. Throws `unprocessable`, with the loc given, for one that is
 * blank, longer than 256 characters, or holds control characters or lone surrogates.
 */
export function checkName(name: string, ...loc: (string | number)[]): string {
  const fail = (what: string) => new HeddleError("unprocessable", `${loc[0] ?? "name"} ${what}`, { loc });
  if (name.trim() === "") throw fail("must not be blank");
  if (isTooLong(name)) throw fail(`must have at most ${maxName} characters`);
  if (unstorable.test(name)) throw fail("must not hold control characters or lone surrogates");
  return name;
}

const maxName = 256;

/** Whether a name has more characters, that is code points, than any may have. */
export function isTooLong(name: string): boolean {
  return name.length > 2 * maxName || (name.length > maxName && Array.from(name).length > maxName);
}

/** Whether a backend can store the text. Others are not looked up, because Postgres rejects the query. */
export function isStorable(text: string): boolean {
  return !unstorable.test(text);
}

/** Clients resolve these in paths: what is named so is in no path. */
const isStep = (name: string): boolean => name === "." || name === "..";

/** Whether `checkPathName` lets the name pass. */
export function isPathName(name: string): boolean {
  return !name.includes("/") && !isStep(name) && name.trim() !== "" && !isTooLong(name) && !unstorable.test(name);
}

/** Entities and projects: the rules of `checkName`, no step in a path, and no slash, which separates the two in `entity/project`. */
export function checkPathName(name: string, ...loc: (string | number)[]): string {
  if (isStep(name)) throw new HeddleError("unprocessable", `${loc[0] ?? "name"} must not be . or ..`, { loc });
  if (name.includes("/")) throw new HeddleError("unprocessable", `${loc[0] ?? "name"} must not hold a slash`, { loc });
  return checkName(name, ...loc);
}
