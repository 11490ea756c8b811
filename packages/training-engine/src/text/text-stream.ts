import type { Tokenizer } from "./tokenizer.js";

/** Turns token after token into text; what it gives out, put together, is `decode` of all of them. */
export interface TextStream {
  /** The text that is complete now; may be empty while the bytes of a character are incomplete. */
  push(id: number): string;
  /** The rest; an incomplete character becomes U+FFFD. The stream can be used anew afterwards. */
  flush(): string;
}

/** For a completion: a leading space is kept, since text goes before it. */
export function createTextStream(
  { tokenBytes, specialIds }: Pick<Tokenizer, "tokenBytes" | "specialIds">,
  { skipSpecialTokens = false }: { skipSpecialTokens?: boolean } = {},
): TextStream {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  return {
    push: (id) => (skipSpecialTokens && specialIds.has(id) ? "" : decoder.decode(tokenBytes(id), { stream: true })),
    flush: () => decoder.decode(),
  };
}
