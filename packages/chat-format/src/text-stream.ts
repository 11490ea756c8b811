import type { Tokenizer } from "./tokenizer.js";

/** Decodes tokens one by one. The concatenated results equal `decode` of all tokens. */
export interface TextStream {
  /** Returns the text that became complete. Empty while the bytes of a character are incomplete. */
  push(id: number): string;
  /** Returns the rest; an incomplete character becomes U+FFFD. The stream can be reused afterwards. */
  flush(): string;
}

/** Opens a stream for a completion. A leading space is kept, because the text follows a prompt. */
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
