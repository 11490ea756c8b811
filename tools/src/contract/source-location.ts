import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { isAlias, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument } from "yaml";
import type { Document, Node } from "yaml";

interface Source {
  file: string;
  document: Document;
  lines: LineCounter;
}

interface Position {
  source: Source;
  node: Node;
}

/**
 * Where a JSON pointer into a bundled document was written: file, relative to the `spec` folder, and line. For what is in no
 * file, such as a response that the plugin adds, the nearest part around it that is.
 */
export function sourceLocation(spec: string, name: string, pointer: string): { file: string; line: number } {
  const sources = new Map<string, Source>();
  const open = (file: string): Source => {
    const known = sources.get(file) ?? parse(spec, file);
    sources.set(file, known);
    return known;
  };
  const steps = stepsOf(pointer);
  const [section, kind, component] = steps;
  const hoisted =
    section === "components" && kind !== undefined && component !== undefined
      ? findComponent(spec, name, component, open)
      : undefined;
  const position = hoisted
    ? walk(spec, hoisted, steps.slice(3), open)
    : walk(spec, rootOf(open(`${name}/openapi.yaml`)), steps, open);
  return { file: position.source.file, line: lineOf(position) };
}

function parse(spec: string, file: string): Source {
  const lines = new LineCounter();
  const document = parseDocument(readFileSync(join(spec, file), "utf8"), { lineCounter: lines, logLevel: "silent" });
  return { file, document, lines };
}

function stepsOf(pointer: string): string[] {
  const steps = pointer.replace(/^#/, "").split("/").slice(1);
  return steps.map((step) => decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~"));
}

function rootOf(source: Source): Position {
  return { source, node: source.document.contents as Node };
}

/** Bundling moves every schema into the components under its key, which is unique among the files of an interface. */
function findComponent(
  spec: string,
  name: string,
  component: string,
  open: (file: string) => Source,
): Position | undefined {
  const files = [`${name}/schemas`, "shared", name].flatMap((folder) =>
    existsSync(join(spec, folder))
      ? readdirSync(join(spec, folder))
          .filter((file) => file.endsWith(".yaml") && file !== "openapi.yaml")
          .map((file) => join(folder, file))
      : [],
  );
  for (const file of files) {
    const found = childOf(rootOf(open(file)), component);
    if (found) return found;
  }
  return undefined;
}

/** Follows the steps as far as they lead, through `$ref`s to other files. */
function walk(spec: string, from: Position, steps: string[], open: (file: string) => Source): Position {
  let position = resolveRef(spec, from, open);
  for (const step of steps) {
    const child = childOf(position, step);
    if (!child) return position;
    position = resolveRef(spec, child, open);
  }
  return position;
}

function resolveRef(spec: string, position: Position, open: (file: string) => Source): Position {
  const ref = isMap(position.node) ? position.node.get("$ref") : undefined;
  if (typeof ref !== "string") return position;
  const [path = "", pointer = ""] = ref.split("#");
  const { file } = position.source;
  const target = path === "" ? file : relative(spec, join(spec, dirname(file), path));
  return existsSync(join(spec, target)) ? walk(spec, rootOf(open(target)), stepsOf(pointer), open) : position;
}

function childOf({ source, node }: Position, step: string): Position | undefined {
  if (isMap(node)) {
    const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === step);
    if (!pair) return undefined;
    const value = isAlias(pair.value) ? pair.value.resolve(source.document) : pair.value;
    // An empty value has no position of its own.
    return { source, node: isNode(value) && value.range ? value : (pair.key as Node) };
  }
  const item = isSeq(node) ? node.items[Number(step)] : undefined;
  return isNode(item) ? { source, node: item } : undefined;
}

function lineOf({ source, node }: Position): number {
  return source.lines.linePos(node.range?.[0] ?? 0).line;
}
