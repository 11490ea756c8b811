/** The name and the version in a ref: `weave:///a/b/object/exam:x1y2z3` → `exam`, `x1y2z3`. Other texts are names. */
export function nameInRef(ref: string): { name: string; version?: string } {
  const found = /^weave:\/\/\/[^/]+\/[^/]+\/(?:object|op)\/([^/:]+):([^/]+)$/.exec(ref);
  if (found === null) return { name: ref };
  const [, name = "", version = ""] = found;
  return { name: unescaped(name), version };
}

/** As people read it: `exam:x1y2z3…`. */
export function shortRef(ref: string): string {
  const { name, version } = nameInRef(ref);
  if (version === undefined) return name;
  return `${name}:${version.length > 8 ? `${version.slice(0, 6)}…` : version}`;
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
