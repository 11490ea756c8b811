import { Problem } from "@heddle/server-stub";

/** Returns the parameters of a path that fits. Throws a 400 for a percent-encoding that is broken. */
export type PathPattern = (path: string) => Record<string, string> | undefined;

/** Compiles a path of a route: see `paths` of `RouteEntry`. */
export function pathPattern(path: string): PathPattern {
  const names: { name: string; rest: boolean }[] = [];
  const source = path.split(/(\{\w+\*?\})/).map((part) => {
    const [, name, star] = /^\{(\w+)(\*?)\}$/.exec(part) ?? [];
    if (name === undefined) return part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
    names.push({ name, rest: star === "*" });
    return star === "*" ? "(.*)" : "([^/]+)";
  });
  const pattern = new RegExp(`^${source.join("")}$`, "s");
  return (target) => {
    const values = pattern.exec(target)?.slice(1);
    return values && Object.fromEntries(names.map(({ name, rest }, at) => [name, valueOf(values[at] ?? "", rest)]));
  };
}

function valueOf(segment: string, rest: boolean): string {
  if (rest || !segment.includes("%")) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new Problem(400, "the path holds a broken percent-encoding");
  }
}

/** The path of a request, with repeated slashes as one. */
export function pathOf(target: string): string {
  const path = target.split("?", 1)[0] ?? "";
  return path.includes("//") ? path.replaceAll(/\/{2,}/g, "/") : path;
}
