import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

/**
 * Folders have a direction: what lies side by side in a folder, its files and its folders, imports each other in no circle. A
 * folder counts as one with everything in it, and type imports count. Tests may import what they like.
 */
export const noFolderCircle = {
  create(context) {
    const folders = foldersOf(context.filename);
    const check = (node) => {
      const { value } = node.source ?? {};
      const circle = typeof value === "string" && folders?.circleOf(context.filename, value);
      if (circle) context.report({ node, message: circle });
    };
    return {
      ImportDeclaration: check,
      ImportExpression: check,
      ExportNamedDeclaration: check,
      ExportAllDeclaration: check,
    };
  },
};

/** By root: a run of the linter reads each package once. */
const packages = new Map();

function foldersOf(file) {
  let root = dirname(file);
  while (!existsSync(join(root, "package.json"))) {
    if (root === dirname(root)) return undefined;
    root = dirname(root);
  }
  if (!packages.has(root)) packages.set(root, new PackageFolders(root));
  return packages.get(root);
}

class PackageFolders {
  #root;
  /** Of each folder what lies in it, with what each imports, and one import that shows it. */
  #folders = new Map();

  constructor(root) {
    this.#root = root;
    for (const file of sources(root)) {
      for (const [, specifier] of readFileSync(file, "utf8").matchAll(relativeImport)) {
        const edge = this.#edge(file, specifier);
        if (edge === undefined) continue;
        const { folder, from, to, example } = edge;
        if (!this.#folders.has(folder)) this.#folders.set(folder, new Map());
        const imports = this.#folders.get(folder);
        if (!imports.has(from)) imports.set(from, new Map());
        if (!imports.get(from).has(to)) imports.get(from).set(to, example);
      }
    }
  }

  /** What is wrong with an import; undefined when nothing is. */
  circleOf(file, specifier) {
    const edge = isTest(file) ? undefined : this.#edge(file, specifier);
    const back = edge && this.#way(edge.folder, edge.to, edge.from);
    if (back === undefined) return undefined;
    return `${edge.from} and ${edge.to} import each other: ${[edge.example, ...back].join(", ")}.`;
  }

  /** An import as one of its neighbour by something that lies in a folder; undefined when it is none of this package. */
  #edge(file, specifier) {
    const target = specifier.startsWith(".") ? sourceOf(resolve(dirname(file), specifier)) : undefined;
    const [from, to] = [file, target ?? file].map((path) => relative(this.#root, path).split("/"));
    const depth = from.findIndex((name, index) => name !== to[index]);
    if (depth === -1 || to[0] === "..") return undefined;
    const entry = (path) => (depth === path.length - 1 ? path[depth] : `${path[depth]}/`);
    const example = `${from.slice(depth).join("/")} imports ${to.slice(depth).join("/")}`;
    return { folder: from.slice(0, depth).join("/"), from: entry(from), to: entry(to), example };
  }

  /** The imports that lead from one neighbour to another by the shortest way. */
  #way(folder, from, to) {
    const imports = this.#folders.get(folder);
    const ways = new Map([[from, []]]);
    for (const [at, way] of ways) {
      for (const [next, example] of imports?.get(at) ?? []) {
        if (next === to) return [...way, example];
        if (!ways.has(next)) ways.set(next, [...way, example]);
      }
    }
    return undefined;
  }
}

const relativeImport = /\b(?:from |import |import\()"(\.{1,2}\/[^"]+)"/g;

const isTest = (file) => /\.test\.[cm]?[jt]sx?$/.test(file);

function* sources(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      const isOwn = !["node_modules", "dist"].includes(entry.name) && !existsSync(join(path, "package.json"));
      if (isOwn && !entry.name.startsWith(".")) yield* sources(path);
    } else if (/\.[cm]?[jt]sx?$/.test(entry.name) && !isTest(entry.name)) yield path;
  }
}

/** The source of what an import names: TypeScript is imported by the name it is compiled to. */
function sourceOf(path) {
  const source = path.replace(/\.([cm]?)js$/, ".$1ts");
  return [source, path].find((file) => existsSync(file));
}
