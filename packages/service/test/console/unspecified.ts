import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

interface Document {
  paths: Record<string, Record<string, unknown>>;
}

const { resolve } = createRequire(import.meta.url);
const documents = ["tracing", "training"].map(
  (name) => JSON.parse(readFileSync(resolve(`@heddle/spec/${name}.json`), "utf8")) as Document,
);

/** Each operation of the specification, by its method and what its addresses look like. */
const operations = documents.flatMap(({ paths }) =>
  Object.entries(paths).flatMap(([path, methods]) => {
    const literal = path.replaceAll(/[.*+?^$()|[\]\\]/g, String.raw`\$&`);
    const pattern = new RegExp(`^${literal.replaceAll(/\{[^}]*\}/g, "[^/]+")}$`);
    return Object.keys(methods).map((method) => ({ method: method.toUpperCase(), pattern }));
  }),
);

/** Files of the console and of the documentation, wherever a proxy has them. */
const isFile = /\/(?:console|docs)(?:\/|$)/;

/** A request of the console that is no operation of the specification; undefined for others. `prefix` is that of a proxy. */
export function unspecified(method: string, pathname: string, prefix = ""): string | undefined {
  const path = pathname.slice(prefix.length);
  if (isFile.test(pathname) || path === "/" || path === "/favicon.ico") return undefined;
  const isKnown = operations.some((of) => of.method === method && of.pattern.test(path));
  return isKnown ? undefined : `${method} ${pathname} is no operation`;
}
