import { HeddleError } from "@heddle/errors";
import { constraintSource } from "../src/constraint-source.js";
import type { StructuredOutput } from "../src/structured-output.js";
import type { JudgedText } from "../test/judged-texts.js";
import { loadXGrammar } from "../src/xgrammar-library.js";

export const library = loadXGrammar(() => {});
type Grammar = Awaited<ReturnType<typeof library.Grammar.fromEBNF>>;

/** How a constraint treats texts: the ones it allows or forbids wrongly, or that it was refused or failed to compile. */
export interface Verdict {
  allows: string[];
  forbids: string[];
  outcome: "compiled" | "refused" | "error";
}

export async function verdictOn(build: () => Promise<Grammar>, texts: readonly JudgedText[]): Promise<Verdict> {
  const verdict: Verdict = { allows: [], forbids: [], outcome: "compiled" };
  let grammar: Grammar;
  try {
    grammar = await build();
  } catch (error) {
    return { ...verdict, outcome: error instanceof HeddleError ? "refused" : "error" };
  }
  for (const { text, valid } of texts) {
    const accepted = await library.Testings.isGrammarAcceptString(grammar, text);
    if (accepted !== valid) (accepted ? verdict.allows : verdict.forbids).push(text);
  }
  grammar.dispose();
  return verdict;
}

/** The grammar of this package. */
export async function ownGrammar(output: StructuredOutput): Promise<Grammar> {
  const source = constraintSource(output);
  if (!("grammar" in source)) throw new Error("a structural tag has no grammar of its own");
  return await library.Grammar.fromEBNF(source.grammar);
}
