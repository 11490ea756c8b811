import type { StructuredOutput } from "./structured-output.js";
import { HeddleError } from "@heddle/errors";
import { constraintSource } from "./constraint-source.js";
import type { JsonValidator } from "./schema/json-validator.js";
import { jsonValidator } from "./schema/json-validator.js";
import type { GrammarWorkerData } from "./grammar-worker-protocol.js";
import type { CompiledGrammar, XGrammar } from "./xgrammar-library.js";

export interface Compiled {
  grammar: CompiledGrammar;
  validator?: JsonValidator;
  /** Characters of its source, to which its memory is proportional. */
  size: number;
}

/** Characters of the sources of all cached grammars. */
const maxCachedCharacters = 4_000_000;

/** A least recently used cache of grammars compiled for one vocabulary. */
export interface CompiledGrammars {
  compile(output: StructuredOutput): Promise<Compiled>;
}

export async function compiledGrammars(library: XGrammar, data: GrammarWorkerData): Promise<CompiledGrammars> {
  const { GrammarCompiler, TokenizerInfo } = library;
  const info = await TokenizerInfo.createTokenizerInfo(
    tokenStrings(data),
    "raw",
    false,
    data.vocabularySize,
    data.eosIds,
  );
  const compiler = await GrammarCompiler.createGrammarCompiler(info, false);
  const cache = new Map<string, Compiled>();
  let cachedCharacters = 0;

  return {
    async compile(output) {
      const key = JSON.stringify(output);
      const known = cache.get(key);
      if (known) cache.delete(key);
      const compiled = known ?? (await compile(output));
      cache.set(key, compiled);
      if (!known) cachedCharacters += compiled.size;
      for (const [oldest, { grammar, size }] of cache) {
        const fits = cache.size <= data.cachedGrammars && cachedCharacters <= maxCachedCharacters;
        if (fits || cache.size === 1) break;
        cache.delete(oldest);
        cachedCharacters -= size;
        // Matchers in use have references of their own.
        grammar.dispose();
      }
      return compiled;
    },
  };

  async function compile(output: StructuredOutput): Promise<Compiled> {
    const source = constraintSource(output);
    const validator = "schema" in source ? validatorFor(source.schema) : undefined;
    const grammar =
      "grammar" in source
        ? await compileText(source.grammar)
        : await compiler.compileStructuralTag(source.structuralTag);
    const { length } = "grammar" in source ? source.grammar : source.structuralTag;
    return { grammar, validator, size: length };
  }

  /** Compiles in two steps: `compileGrammar` of a text would not free the parsed grammar in wasm memory. */
  async function compileText(text: string): Promise<CompiledGrammar> {
    const parsed = await library.Grammar.fromEBNF(text);
    const compiled = await compiler.compileGrammar(parsed);
    parsed.dispose();
    return compiled;
  }
}

function validatorFor(schema: unknown): JsonValidator {
  try {
    return jsonValidator(schema);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new HeddleError("invalid", `The JSON schema cannot be used: ${reason}.`, { loc: ["schema"] });
  }
}

/** Returns tokens as bytes. The library accepts them although its types require strings. */
function tokenStrings({ bytes, ends }: GrammarWorkerData): string[] {
  const tokens = Array.from(ends, (end, token) => bytes.subarray(token === 0 ? 0 : ends[token - 1], end));
  return tokens as unknown[] as string[];
}
