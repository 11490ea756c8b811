import type { GenerateRequest } from "@heddle/training";

export type LogitSettings = Pick<
  GenerateRequest,
  | "minTokens"
  | "repetitionPenalty"
  | "frequencyPenalty"
  | "presencePenalty"
  | "logitBias"
  | "allowedTokenIds"
  | "badWords"
>;

/** Changes the logits of one completion in place. A forbidden token becomes -Infinity. */
export interface LogitControls {
  /**
   * Applies the controls. `mask` has the tokens that a constraint allows: bit t & 31 of word t >>> 5. With `onlyEos`,
   * only end-of-text remains.
   */
  apply(logits: Float64Array, mask?: Int32Array, onlyEos?: boolean): void;
  /** Records a sampled token, which later steps depend on. */
  recordToken(token: number): void;
}

/**
 * Creates the controls of a request, in the order of vLLM: allowed tokens, constraint, bad words, minimum length, bias,
 * penalties. Temperature and truncation follow in `truncation.ts`. Returns undefined for a request without controls.
 *
 * The repetition penalty includes the prompt, the other two only sampled tokens. `ends` are the tokens that the minimum
 * length forbids: end-of-text and stop tokens.
 */
export function logitControls(
  settings: LogitSettings,
  prompt: Int32Array,
  ends: readonly number[],
): LogitControls | undefined {
  const { minTokens = 0, repetitionPenalty = 1, frequencyPenalty = 0, presencePenalty = 0 } = settings;
  const { logitBias, badWords = [], allowedTokenIds } = settings;
  const counting = repetitionPenalty !== 1 || frequencyPenalty !== 0 || presencePenalty !== 0;
  if (!counting && minTokens === 0 && !logitBias?.size && badWords.length === 0 && !allowedTokenIds) return undefined;

  const allowed = allowedTokenIds && new Set(allowedTokenIds);
  const sampled: number[] = [];
  const counts = new Map<number, number>();
  const seen = new Set<number>(repetitionPenalty === 1 ? [] : prompt);

  const ban = (logits: Float64Array, token: number) => {
    if (token < logits.length) logits[token] = -Infinity;
  };
  const penalize = (logits: Float64Array) => {
    for (const token of repetitionPenalty === 1 ? [] : seen) {
      const logit = logits[token];
      if (logit !== undefined) logits[token] = logit > 0 ? logit / repetitionPenalty : logit * repetitionPenalty;
    }
    for (const [token, count] of counts) logits[token]! -= frequencyPenalty * count + presencePenalty;
  };
  return {
    apply(logits, mask, onlyEos = false) {
      if (allowed) logits.forEach((_, token) => allowed.has(token) || ban(logits, token));
      if (mask) applyMask(logits, mask);
      for (const word of badWords) if (endsWithPrefix(sampled, word)) ban(logits, word.at(-1)!);
      if (sampled.length < minTokens && !onlyEos) for (const token of ends) ban(logits, token);
      for (const [token, bias] of logitBias ?? []) logits[token]! += bias;
      if (counting) penalize(logits);
    },
    recordToken(token) {
      sampled.push(token);
      if (!counting) return;
      seen.add(token);
      counts.set(token, (counts.get(token) ?? 0) + 1);
    },
  };
}

export function applyMask(logits: Float64Array, mask: Int32Array): void {
  for (let token = 0; token < logits.length; token++) {
    if (((mask[token >>> 5] ?? 0) & (1 << (token & 31))) === 0) logits[token] = -Infinity;
  }
}

/** Returns whether `tokens` ends with `word` without its last token. */
function endsWithPrefix(tokens: readonly number[], word: Int32Array): boolean {
  const start = tokens.length - word.length + 1;
  if (start < 0) return false;
  for (let i = 0; i < word.length - 1; i++) if (tokens[start + i] !== word[i]) return false;
  return true;
}
