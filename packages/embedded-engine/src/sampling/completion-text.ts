import { createTextStream } from "@heddle/chat-format";
import type { Tokenizer } from "@heddle/chat-format";
import type { SamplingRequest } from "./sampling-request.js";
import { createStopStrings } from "./stop-strings.js";

/** The releasable text of a completion: without a possible start of a stop string and without incomplete characters. */
export interface CompletionText {
  /**
   * Adds a token. Returns the released text, and the stop string that the token completes. A `hidden` token adds no
   * text. `watch` is whether stop strings are searched for in its text.
   */
  push(
    token: number,
    options: { omitText: boolean; matchStops: boolean; last: boolean },
  ): { text: string; stop?: string };
}

export function createCompletionText(
  tokenizer: Pick<Tokenizer, "tokenBytes" | "specialIds">,
  { stop = [], includeStop = false, skipSpecialTokens = true }: SamplingRequest,
): CompletionText {
  const stream = createTextStream(tokenizer, { skipSpecialTokens });
  const stops = createStopStrings(stop);
  /** Text that was passed to `stops` and not released. */
  let held = "";
  let released = 0;
  const pushToStops = (piece: string) => {
    held += piece;
    const { match, release } = stops.push(piece);
    const end = match && includeStop ? match.end : release;
    const text = held.slice(0, end - released);
    held = held.slice(text.length);
    released += text.length;
    return { text, stop: match?.stop };
  };
  return {
    push(token, { omitText, matchStops, last }) {
      let piece = omitText ? "" : stream.push(token);
      if (last) piece += stream.flush();
      if (!matchStops || stop.length === 0) return { text: last ? held + piece : piece };
      const { text, stop: found } = pushToStops(piece);
      if (found !== undefined) return { text, stop: found };
      return { text: last ? text + held : text };
    },
  };
}
