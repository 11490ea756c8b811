import type { TokenVocabulary } from "@heddle/chat-format";
import { JsonPieces } from "@heddle/server-stub";
import type { ResponseSchemas } from "@heddle/server-stub/training";
import type { GenerateResult, SampledToken } from "@heddle/training";

type Logprobs = ResponseSchemas["ChatLogprobs"];
type PromptLogprobs = NonNullable<ResponseSchemas["ChatCompletion"]["prompt_logprobs"]>;
type PromptPositions = NonNullable<GenerateResult["promptLogprobs"]>;

export interface TokenNaming {
  tokenizer: Pick<TokenVocabulary, "vocabularySize" | "tokenBytes" | "tokenText">;
  /** Tokens are named `token_id:<id>` instead of by their text. */
  byId: boolean;
}

/** Stands for the logarithm of zero, which JSON cannot express. */
const lowest = -9999;
/** UTF-16 units of a piece of a response. */
const pieceLength = 16_384;
/** Tokens of a vocabulary that are measured. */
const mostMeasured = 2000;

/** The log-probabilities of sampled tokens with `alternatives` each, whose text is made while it is written. */
export function logprobsOf(tokens: readonly SampledToken[], naming: TokenNaming, alternatives: number): Logprobs {
  const length = tokens.length * (1 + alternatives) * entryLength(naming.tokenizer);
  const content = new JsonPieces(length, () => inPieces("[", sampledEntries(tokens, naming), "]"));
  return { content: content as unknown as Logprobs["content"] };
}

/** The same of the tokens of a prompt. */
export function promptLogprobsOf(given: PromptPositions, { tokenizer }: TokenNaming): PromptLogprobs {
  const entries = given.reduce((sum, position) => sum + (position?.length ?? 1), 0);
  const createEntries = () => inPieces("[", promptEntries(given, tokenizer), "]");
  return new JsonPieces(entries * entryLength(tokenizer), createEntries) as unknown as PromptLogprobs;
}

/** About how many UTF-16 units a log-probability takes in a response: the mean of the vocabulary. */
export function entryLength(tokenizer: TokenNaming["tokenizer"]): number {
  const known = lengths.get(tokenizer);
  if (known !== undefined) return known;
  const step = Math.ceil(tokenizer.vocabularySize / mostMeasured);
  let [length, count] = [0, 0];
  for (let id = 0; id < tokenizer.vocabularySize; id += step, count++) {
    length += entry(id, -12.345678901234567, { tokenizer, byId: false }).length + 2;
  }
  const mean = Math.ceil(length / Math.max(1, count));
  lengths.set(tokenizer, mean);
  return mean;
}

const lengths = new WeakMap<object, number>();

function* inPieces(open: string, texts: Iterable<string>, close: string): Generator<string> {
  let piece = open;
  for (const text of texts) {
    piece += text;
    if (piece.length < pieceLength) continue;
    yield piece;
    piece = "";
  }
  yield piece + close;
}

function* sampledEntries(tokens: readonly SampledToken[], naming: TokenNaming): Generator<string> {
  let separator = "";
  for (const sampled of tokens) {
    yield `${separator}${entry(sampled.token, sampled.logprob, naming)},"top_logprobs":[`;
    separator = "";
    for (const { token, logprob } of sampled.eachAlternative?.() ?? sampled.alternatives) {
      yield `${separator}${entry(token, logprob, naming)}}`;
      separator = ",";
    }
    yield "]}";
    separator = ",";
  }
}

function* promptEntries(given: PromptPositions, tokenizer: TokenNaming["tokenizer"]): Generator<string> {
  for (const [position, entries] of given.entries()) {
    yield position === 0 ? "" : ",";
    if (entries === null) {
      yield "null";
      continue;
    }
    let separator = "{";
    for (const { token, logprob, rank } of entries) {
      const text = JSON.stringify(tokenizer.tokenText(token));
      yield `${separator}"${token}":{"logprob":${numberText(logprob)},"rank":${rank},"decoded_token":${text}}`;
      separator = ",";
    }
    yield "}";
  }
}

/** An entry that is still open. */
function entry(token: number, logprob: number, { tokenizer, byId }: TokenNaming): string {
  const name = byId ? `"token_id:${token}"` : JSON.stringify(tokenizer.tokenText(token));
  return `{"token":${name},"logprob":${numberText(logprob)},"bytes":[${tokenizer.tokenBytes(token).join()}]`;
}

function numberText(logprob: number): string {
  return JSON.stringify(Math.max(lowest, logprob));
}
