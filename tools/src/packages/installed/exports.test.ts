import { join } from "node:path";
import ts from "typescript";
import { describe, expect, inject, test } from "vitest";
import { installedEntries } from "./entries.js";

const { project } = inject("installed");
const entries = installedEntries(project).filter(({ types }) => types !== undefined);
const program = ts.createProgram(
  entries.map(({ types }) => types!),
  { module: ts.ModuleKind.NodeNext, target: ts.ScriptTarget.ES2023, types: [], strict: true, skipLibCheck: true },
);
const checker = program.getTypeChecker();

/** `callStart function`, one line per export. */
function exportLines(types: string): string[] {
  const source = program.getSourceFile(types);
  const module = source && checker.getSymbolAtLocation(source);
  if (!module) throw new Error(`${types} is not a module`);
  return checker
    .getExportsOfModule(module)
    .map((symbol) => `${symbol.name} ${kindOf(symbol)}`)
    .toSorted();
}

const kinds: [ts.SymbolFlags, string][] = [
  [ts.SymbolFlags.Class, "class"],
  [ts.SymbolFlags.Function, "function"],
  [ts.SymbolFlags.Variable, "value"],
  [ts.SymbolFlags.Enum, "enum"],
  [ts.SymbolFlags.Interface, "type"],
  [ts.SymbolFlags.TypeAlias, "type"],
  [ts.SymbolFlags.Module, "namespace"],
];

function kindOf(symbol: ts.Symbol): string {
  const { flags } = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  const found = kinds.find(([flag]) => flags & flag);
  if (!found) throw new Error(`${symbol.name} is of no known kind`);
  return found[1];
}

const packages = [...new Set(entries.map((entry) => entry.package))];

// Programs import every line of these files. To accept a change: pnpm packages -u
describe("the exports are the recorded ones", () => {
  test.each(packages)("%s", async (name) => {
    const lines = entries
      .filter((entry) => entry.package === name)
      .flatMap(({ specifier, types }) => [specifier, ...exportLines(types!).map((line) => `  ${line}`)]);
    const file = join(import.meta.dirname, "exports", `${name.replace("@heddle/", "")}.txt`);
    await expect(`${lines.join("\n")}\n`).toMatchFileSnapshot(file);
  });
});
