import { HeddleError } from "@heddle/errors";
import { hasAtMost } from "@heddle/exact-json";
import { isObjectId } from "@heddle/trace-model";

const maxLength = 128;

/**
 * Returns the object id of a name: in lower case, `_` for each space and `/`, without `<` and `>`. `suffixes` are what the
 * ids of further objects add to it. Throws `unprocessable` for a name that leaves no object id.
 */
export function objectIdOf(name: string, suffixes: readonly string[] = []): string {
  const id = name.replace(/[ /]/g, "_").replace(/[<>]/g, "").toLowerCase();
  const most = maxLength - Math.max(0, ...suffixes.map(({ length }) => length));
  if (isObjectId(id) && hasAtMost(id, most)) return id;
  throw new HeddleError(
    "unprocessable",
    `must have 1 to ${most} characters, which are letters or digits of any script, "_", "." or "-"; spaces and "/" become "_", ` +
      '"<" and ">" are left out',
    { loc: ["name"] },
  );
}
