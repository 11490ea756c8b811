import { mapErrors } from "@heddle/errors";

/** Runs a function; the messages of its errors, thrown or rejected with, then begin with `prefix`, and lose their loc. */
export function withPrefix<T>(prefix: string, run: () => T): T {
  return mapErrors((error) => error.with({ message: `${prefix}: ${error.message}`, loc: undefined }), run);
}
