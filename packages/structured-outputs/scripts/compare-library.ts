/**
 * Compares the grammars of this package with those that xgrammar makes of a schema or pattern itself, and prints a table.
 *
 *     node --import tsx -C @heddle/source scripts/compare-library.ts
 */
import { regexCases, schemaCases } from "../test/comparison-cases.js";
import type { JudgedText } from "../test/judged-texts.js";
import { regexTexts, schemaTexts } from "../test/judged-texts.js";
import type { Verdict } from "./grammar-verdict.js";
import { library, ownGrammar, verdictOn } from "./grammar-verdict.js";

const counts = new Map<string, number>();

console.log("| Schema or pattern | This package | xgrammar |\n| --- | --- | --- |");
for (const [name, schema, values] of schemaCases) {
  await compare("schemas", name, schemaTexts(schema, values), [
    () => ownGrammar({ type: "json_schema", schema }),
    () => library.Grammar.fromJSONSchema(JSON.stringify(schema), true, undefined, undefined, false),
  ]);
}
for (const [regex, texts] of regexCases) {
  // The library exports its patterns only as a part of structural tags.
  const format = { type: "regex", pattern: regex } as const;
  await compare("patterns", `\`${regex}\``, regexTexts(regex, texts), [
    () => ownGrammar({ type: "regex", regex }),
    () => library.Grammar.fromStructuralTag({ type: "structural_tag", format }),
  ]);
}
console.log(Object.fromEntries(counts));

type Build = Parameters<typeof verdictOn>[0];

async function compare(kind: string, name: string, texts: JudgedText[], [ours, theirs]: [Build, Build]): Promise<void> {
  const verdicts = [await verdictOn(ours, texts), await verdictOn(theirs, texts)];
  for (const [at, who] of ["this package", "xgrammar"].entries()) {
    const key = `${kind}, ${who}: ${kindOf(verdicts[at])}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const cells = [name, ...verdicts.map(words)].map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", "\\n"));
  console.log(`| ${cells.join(" | ")} |`);
}

function kindOf(verdict: Verdict | undefined): string {
  if (!verdict || verdict.outcome !== "compiled") return verdict?.outcome ?? "";
  if (verdict.allows.length > 0) return "allows wrong text";
  return verdict.forbids.length > 0 ? "forbids right text" : "right";
}

function words({ outcome, allows, forbids }: Verdict): string {
  if (outcome !== "compiled") return outcome;
  const wrong = [...allows.map((text) => `allows \`${text}\``), ...forbids.map((text) => `forbids \`${text}\``)];
  return wrong.length === 0 ? "right" : wrong.join(", ");
}
