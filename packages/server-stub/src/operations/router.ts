import { Problem } from "../problem.js";

export interface Route<Entry> {
  method: string;
  /** `/objs/{object_id}/aliases` */
  path: string;
  entry: Entry;
}

/** A path that is known: what each method leads to, and the decoded parameters. */
export interface Match<Entry> {
  methods: ReadonlyMap<string, Entry>;
  params: Record<string, string>;
}

interface Leaf<Entry> {
  methods: Map<string, Entry>;
  /** Names of the parameters in the path; methods of one path share them. */
  names: string[];
}

interface Node<Entry> {
  fixed: Map<string, Node<Entry>>;
  param: Node<Entry> | undefined;
  /** Of a last parameter that takes all segments that are left. */
  rest: Leaf<Entry> | undefined;
  leaf: Leaf<Entry> | undefined;
}

/**
 * Finds the operations of a path. Repeated slashes count as one, `prefixes` may precede them, and a segment is
 * decoded after the path was split, so `%2F` is part of a parameter; `{name*}` at the end takes the rest of a path with
 * its slashes. Throws a 400 for an encoding that is broken.
 */
export function createRouter<Entry>(
  routes: Iterable<Route<Entry>>,
  prefixes: readonly string[] = [],
): (path: string) => Match<Entry> | undefined {
  const root = newNode<Entry>();
  const fixed = new Map<string, Match<Entry>>();
  for (const route of routes) {
    for (const prefix of ["", ...prefixes]) {
      const leaf = add(root, prefix + route.path, route);
      if (leaf.names.length === 0) fixed.set(prefix + route.path, { methods: leaf.methods, params: {} });
    }
  }
  return (path) => {
    const collapsed = path.includes("//") ? path.replace(/\/{2,}/g, "/") : path;
    return fixed.get(collapsed) ?? find(root, collapsed);
  };
}

function newNode<Entry>(): Node<Entry> {
  return { fixed: new Map(), param: undefined, rest: undefined, leaf: undefined };
}

function add<Entry>(root: Node<Entry>, path: string, { method, entry }: Route<Entry>): Leaf<Entry> {
  const names: string[] = [];
  let node = root;
  for (const segment of path.split("/").slice(1)) {
    const [, name, star] = /^\{([^*]*)(\*?)\}$/.exec(segment) ?? [];
    if (name !== undefined && star === "*") {
      names.push(name);
      node.rest ??= { methods: new Map(), names };
      node.rest.methods.set(method.toUpperCase(), entry);
      return node.rest;
    }
    if (name === undefined) {
      const next = node.fixed.get(segment) ?? newNode<Entry>();
      node.fixed.set(segment, next);
      node = next;
    } else {
      names.push(name);
      node = node.param ??= newNode<Entry>();
    }
  }
  node.leaf ??= { methods: new Map(), names };
  node.leaf.methods.set(method.toUpperCase(), entry);
  return node.leaf;
}

function find<Entry>(root: Node<Entry>, path: string): Match<Entry> | undefined {
  const segments = path.split("/").slice(1).map(decodeSegment);
  const values: string[] = [];
  const leaf = descend(root, segments, 0, values);
  if (leaf === undefined) return undefined;
  return {
    methods: leaf.methods,
    params: Object.fromEntries(leaf.names.map((name, index) => [name, values[index] ?? ""])),
  };
}

/** A fixed segment wins over a parameter, which wins over the rest; when one leads nowhere, the next is tried. */
function descend<Entry>(
  node: Node<Entry>,
  segments: string[],
  depth: number,
  values: string[],
): Leaf<Entry> | undefined {
  const segment = segments[depth];
  if (segment === undefined) return node.leaf;
  const next = node.fixed.get(segment);
  const leaf = next && descend(next, segments, depth + 1, values);
  if (leaf !== undefined || segment === "") return leaf;
  if (node.param !== undefined) {
    values.push(segment);
    const found = descend(node.param, segments, depth + 1, values);
    if (found !== undefined) return found;
    values.pop();
  }
  if (node.rest !== undefined) values.push(segments.slice(depth).join("/"));
  return node.rest;
}

function decodeSegment(segment: string): string {
  if (!segment.includes("%")) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new Problem(400, `the path holds a broken percent-encoding: "${segment}"`);
  }
}
