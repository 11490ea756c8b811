import { EngineError } from "../../engine-error.js";
import type { StructuredOutput } from "../../port.js";
import { constraintSource } from "./constraint-source.js";
import { type JsonCheck, jsonCheck } from "./finished-json.js";
import type { WorkerData } from "./worker-protocol.js";
import type { CompiledGrammar, XGrammar } from "./xgrammar-library.js";

export interface Compiled {
  grammar: CompiledGrammar;
  check?: JsonCheck;
}

/** Grammars compiled for one vocabulary; the ones least recently asked for are forgotten beyond a number. */
export interface CompiledGrammars {
  compile(output: StructuredOutput): Promise<Compiled>;
}

export async function compiledGrammars(library: XGrammar, data: WorkerData): Promise<CompiledGrammars> {
  const { GrammarCompiler, TokenizerInfo } = library;
  const info = await TokenizerInfo.createTokenizerInfo(
    tokenStrings(data),
    "raw",
    false,
    data.vocabularySize,
    data.eosIds,
  );
  const compiler = await GrammarCompiler.createGrammarCompiler(info, false);
  const kept = new Map<string, Compiled>();

  return {
    async compile(output) {
      const key = JSON.stringify(output);
      const known = kept.get(key);
      if (known) kept.delete(key);
      const compiled = known ?? (await compile(output));
      kept.set(key, compiled);
      for (const [oldest, { grammar }] of kept) {
        if (kept.size <= data.cachedGrammars) break;
        kept.delete(oldest);
        // Matchers at work hold it on their own.
        grammar.dispose();
      }
      return compiled;
    },
  };

  async function compile(output: StructuredOutput): Promise<Compiled> {
    const source = constraintSource(output);
    const check = "schema" in source ? checkFor(source.schema) : undefined;
    const grammar =
      "grammar" in source
        ? await compileText(source.grammar)
        : await compiler.compileStructuralTag(source.structuralTag);
    return { grammar, check };
  }

  /** Wasm memory is freed by hand: `compileGrammar` of a text would keep what it parsed. */
  async function compileText(text: string): Promise<CompiledGrammar> {
    const parsed = await library.Grammar.fromEBNF(text);
    const compiled = await compiler.compileGrammar(parsed);
    parsed.dispose();
    return compiled;
  }
}

function checkFor(schema: unknown): JsonCheck {
  try {
    return jsonCheck(schema);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new EngineError("invalid", `The JSON schema cannot be used: ${reason}.`, "schema");
  }
}

/** The library takes bytes where its types say text; both become the same in its memory. */
function tokenStrings({ bytes, ends }: WorkerData): string[] {
  const tokens = Array.from(ends, (end, token) => bytes.subarray(token === 0 ? 0 : ends[token - 1], end));
  return tokens as unknown[] as string[];
}
