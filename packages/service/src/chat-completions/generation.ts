import type { CompletionChunk, GenerateRequest, GenerateResult, Sampler } from "@heddle/training";

/** A generation whose chunks are read as they come. */
export interface Generation {
  /** Ends when generation does. Throws what the engine threw. */
  chunks(): AsyncGenerator<CompletionChunk>;
  /** Of a generation whose chunks were all read. */
  readonly result: Promise<GenerateResult>;
}

/** Starts to generate; `signal` ends it. */
export function startGeneration(sampler: Sampler, request: GenerateRequest, signal: AbortSignal): Generation {
  const waiting: CompletionChunk[] = [];
  let hasSettled = false;
  let wake = (): void => {};
  const onChunk = (chunk: CompletionChunk): void => {
    waiting.push(chunk);
    wake();
  };
  const result = sampler.generate(request, { onChunk, signal }).finally(() => {
    hasSettled = true;
    wake();
  });
  result.catch(() => {});
  return {
    result,
    async *chunks() {
      for (;;) {
        yield* waiting.splice(0);
        if (waiting.length > 0) continue;
        if (hasSettled) break;
        await new Promise<void>((resolve) => (wake = resolve));
      }
      await result;
    },
  };
}
