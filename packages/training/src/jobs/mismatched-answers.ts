import type { TokenSequence } from "../port.js";

/**
 * Returns each prompt with the answer to the prompt before, the first one with the last. Without those that are longer
 * than a sequence may be.
 */
export function mismatchedAnswers(answers: readonly TokenSequence[], maxTokens = Infinity): TokenSequence[] {
  return answers
    .map((answer, at) => withAnswer(promptOf(answer), answerOf(answers.at(at - 1) ?? answer)))
    .filter(({ tokens }) => tokens.length <= maxTokens);
}

function withAnswer(prompt: Int32Array, answer: Int32Array): TokenSequence {
  const tokens = new Int32Array(prompt.length + answer.length);
  tokens.set(prompt);
  tokens.set(answer, prompt.length);
  return { tokens, mask: Uint8Array.from(tokens, (_, t) => (t >= prompt.length ? 1 : 0)) };
}

function promptOf({ tokens, mask }: TokenSequence): Int32Array {
  return tokens.subarray(0, mask.indexOf(1));
}

function answerOf({ tokens, mask }: TokenSequence): Int32Array {
  return tokens.subarray(mask.indexOf(1));
}
