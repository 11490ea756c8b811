import type { Tokenizer } from "@heddle/chat-format";
import type { ResponseSchemas } from "@heddle/server-stub/training";
import type { GenerateResult, SampledToken } from "@heddle/training";

type Logprobs = ResponseSchemas["ChatLogprobs"];
type PromptLogprobs = NonNullable<ResponseSchemas["ChatCompletion"]["prompt_logprobs"]>;

export interface TokenNaming {
  tokenizer: Pick<Tokenizer, "tokenBytes" | "tokenText">;
  /** Tokens are named `token_id:<id>` instead of by their text. */
  byId: boolean;
}

/** Stands for the logarithm of zero, which JSON cannot express. */
const lowest = -9999;

export function logprobsOf(tokens: readonly SampledToken[], naming: TokenNaming): Logprobs {
  return {
    content: tokens.map(({ token, logprob, alternatives }) => ({
      ...entry(token, logprob, naming),
      top_logprobs: alternatives.map((other) => entry(other.token, other.logprob, naming)),
    })),
  };
}

export function promptLogprobsOf(
  given: NonNullable<GenerateResult["promptLogprobs"]>,
  { tokenizer }: TokenNaming,
): PromptLogprobs {
  return given.map((position) => {
    if (position === null) return null;
    const entries = position.map(({ token, logprob, rank }) => [
      String(token),
      { logprob: Math.max(lowest, logprob), rank, decoded_token: tokenizer.tokenText(token) },
    ]);
    return Object.fromEntries(entries) as NonNullable<PromptLogprobs[number]>;
  });
}

function entry(token: number, logprob: number, { tokenizer, byId }: TokenNaming) {
  return {
    token: byId ? `token_id:${token}` : tokenizer.tokenText(token),
    logprob: Math.max(lowest, logprob),
    bytes: [...tokenizer.tokenBytes(token)],
  };
}
