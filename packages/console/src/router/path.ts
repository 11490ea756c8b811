/**
 * Paths have parts that are texts, `$name`s of any text, and `{-$name}`s that may be left out at the end. In addresses they are
 * percent-encoded.
 */
type Params = Readonly<Record<string, string | undefined>>;

const partsOf = (path: string): string[] => path.split("/").filter((part) => part !== "");

/** What `address` has in place of the names of `path`; undefined where it is another path. */
export function readPath(path: string, address: string): Record<string, string> | undefined {
  const given = partsOf(address);
  const parts = partsOf(path);
  if (given.length > parts.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, part] of parts.entries()) {
    const segment = given[index];
    const [, optional, name] = /^(\{-)?\$(\w+)/.exec(part) ?? [];
    if (segment === undefined) {
      if (optional === undefined) return undefined;
    } else if (name !== undefined) params[name] = decoded(segment);
    else if (part !== segment) return undefined;
  }
  return params;
}

/** The address of `path` with `params`. */
export function writePath(path: string, params: Params): string {
  const segments = partsOf(path).flatMap((part) => {
    const [, name] = /^(?:\{-)?\$(\w+)/.exec(part) ?? [];
    if (name === undefined) return [part];
    const value = params[name];
    return value === undefined || value === "" ? [] : [encodeURIComponent(value.toWellFormed())];
  });
  return segments.join("/");
}

/** What is no encoding stands for itself: somebody wrote the address by hand. */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
