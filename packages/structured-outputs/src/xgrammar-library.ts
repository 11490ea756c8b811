import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type * as Library from "@mlc-ai/web-xgrammar";
import { HeddleError } from "@heddle/errors";

export type XGrammar = typeof Library;
export type { CompiledGrammar, GrammarMatcher } from "@mlc-ai/web-xgrammar";

/**
 * Loads xgrammar. Its file is a CommonJS script although the package declares an ES module, so it is run as a function.
 * Its console output is passed to `print`, because the reason of an abort is only printed.
 */
export function loadXGrammar(print: (line: string) => void, name = "@mlc-ai/web-xgrammar"): XGrammar {
  const require = createRequire(import.meta.url);
  let file: string;
  try {
    file = require.resolve(name);
  } catch {
    const reason = `Structured outputs need the package ${name}, which is not installed.`;
    throw new HeddleError("unsupported", reason);
  }
  const log = (...parts: unknown[]): void => print(parts.map(String).join(" "));
  const module = { exports: {} };
  // oxlint-disable-next-line typescript/no-implied-eval -- the text of an installed package, as `require` would run it
  const run = new Function("module", "exports", "require", "__filename", "console", readFileSync(file, "utf8")) as (
    ...given: unknown[]
  ) => void;
  run(module, module.exports, createRequire(file), file, { log, warn: log, error: log });
  return module.exports as XGrammar;
}

/** Returns whether the optional package of structured outputs is installed. */
export function structuredOutputsAvailable(): boolean {
  try {
    createRequire(import.meta.url).resolve("@mlc-ai/web-xgrammar");
    return true;
  } catch {
    return false;
  }
}

interface WasmMemory {
  buffer: ArrayBuffer;
  grow(pages: number): number;
}

/** Limits wasm memory, which never shrinks, to `bytes`: growing beyond them fails and calls `refused`. */
export function limitWasmMemory(bytes: number, refused: () => void): void {
  // The types of node lack the WebAssembly namespace.
  const { prototype } = (globalThis as unknown as { WebAssembly: { Memory: { prototype: WasmMemory } } }).WebAssembly
    .Memory;
  const grow: (this: WasmMemory, pages: number) => number = Reflect.get(prototype, "grow");
  prototype.grow = function limited(this: WasmMemory, pages: number): number {
    if (this.buffer.byteLength + pages * 65_536 > bytes) {
      refused();
      throw new RangeError("the limit of this thread is reached");
    }
    return grow.call(this, pages);
  };
}
