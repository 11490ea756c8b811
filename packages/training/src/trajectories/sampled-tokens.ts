import type { Loc } from "@heddle/errors";
import type { TokenVocabulary } from "@heddle/chat-format";
import { listAt, invalidAt, objectAt, optionalListAt, optionalObjectAt } from "./field-checks.js";

/** Tokens sampled in one turn, as reported by the chat endpoint. */
export interface SampledTokens {
  ids: Int32Array;
  /** NaN where unknown. */
  logprobs: Float64Array;
  /** Whether log-probabilities were reported. */
  reported: boolean;
}

/** Tokens that a trajectory may contain. */
export interface KnownTokens {
  tokenizer: TokenVocabulary;
  /** Rows of the model's output, if there are more than tokens in the tokenizer. */
  vocabularySize: number;
}

/** Inference servers report this value for minus infinity or an unknown log-probability. */
const unknownLogprob = -9000;

/**
 * Reads the sampled tokens of a choice, or of an assistant message with the same fields: `token_ids`, else the tokens
 * of `logprobs.content` (`token_id:17` or text; an unknown text becomes the end-of-text token). Returns undefined
 * without either. Throws `invalid`, with the location, for unknown ids and for lists of different lengths.
 */
export function readSampledTokens(
  source: Record<string, unknown>,
  loc: Loc,
  known: KnownTokens,
): SampledTokens | undefined {
  const { entries, listLoc } = tokenEntries(source["logprobs"], [...loc, "logprobs"]);
  const given = source["token_ids"];
  const recorded = given === undefined || given === null ? undefined : readIds(given, [...loc, "token_ids"], known);
  const named = entries?.map((entry, index) => entryId(entry, [...listLoc, index], known));
  const ids = recorded ?? (named && Int32Array.from(named));
  if (!ids) return undefined;
  if (named && named.length !== ids.length) {
    throw invalidAt(listLoc, `${named.length} log-probabilities for ${ids.length} token ids`);
  }
  const exact = source["art_completion_logprobs"] ?? undefined;
  const logprobs =
    exact !== undefined
      ? listAt(exact, [...loc, "art_completion_logprobs"]).map((each, index) =>
          logprobAt(each, [...loc, "art_completion_logprobs", index]),
        )
      : entries?.map((entry, index) => logprobAt(entry["logprob"], [...listLoc, index, "logprob"]));
  if (logprobs && logprobs.length !== ids.length) {
    throw invalidAt(
      [...loc, "art_completion_logprobs"],
      `${logprobs.length} log-probabilities for ${ids.length} token ids`,
    );
  }
  return {
    ids,
    logprobs: logprobs ? Float64Array.from(logprobs) : new Float64Array(ids.length).fill(Number.NaN),
    reported: logprobs !== undefined,
  };
}

/** Reads a list of token ids of the model. */
export function readIds(value: unknown, loc: Loc, known: KnownTokens): Int32Array {
  return Int32Array.from(listAt(value, loc), (id, index) => checkedId(id, () => [...loc, index], known));
}

function tokenEntries(value: unknown, loc: Loc): { entries?: Record<string, unknown>[]; listLoc: Loc } {
  const logprobs = optionalObjectAt(value, loc);
  // The tokens of a refusal are in another list.
  for (const name of ["content", "refusal"]) {
    const listLoc = [...loc, name];
    const entries = optionalListAt(logprobs[name], listLoc);
    if (entries.length > 0) return { entries: entries.map((entry, at) => objectAt(entry, [...listLoc, at])), listLoc };
  }
  return { listLoc: [...loc, "content"] };
}

function entryId(entry: Record<string, unknown>, loc: Loc, known: KnownTokens): number {
  const token = entry["token"];
  if (typeof token !== "string") throw invalidAt([...loc, "token"], "token must be text");
  if (token.startsWith("token_id:")) {
    const digits = token.slice("token_id:".length);
    return checkedId(/^-?\d+$/.test(digits) ? Number(digits) : digits, () => [...loc, "token"], known);
  }
  const { tokenizer } = known;
  const id = tokenizer.idOf(token) ?? idOfBytes(entry["bytes"], tokenizer) ?? tokenizer.eosIds[0];
  if (id === undefined)
    throw invalidAt([...loc, "token"], `there is no token ${JSON.stringify(token)}, and no end-of-text token`);
  return id;
}

function idOfBytes(bytes: unknown, tokenizer: TokenVocabulary): number | undefined {
  const valid = Array.isArray(bytes) && bytes.every((byte) => Number.isInteger(byte) && byte >= 0 && byte < 256);
  return valid ? tokenizer.idOfBytes(Uint8Array.from(bytes)) : undefined;
}

function checkedId(id: unknown, loc: () => Loc, { tokenizer, vocabularySize }: KnownTokens): number {
  const size = Math.max(vocabularySize, tokenizer.vocabularySize);
  if (typeof id === "number" && Number.isInteger(id) && id >= 0 && id < size) return id;
  throw invalidAt(loc(), `${JSON.stringify(id)} is not a token id of this model (0 to ${size - 1})`);
}

function logprobAt(value: unknown, loc: Loc): number {
  if (typeof value !== "number" || Number.isNaN(value)) throw invalidAt(loc, "a log-probability must be a number");
  // Rounding may make the log-probability of a certain token slightly positive.
  if (value > 1e-3) throw invalidAt(loc, `${value} is not a log-probability: it is above 0`);
  return value <= unknownLogprob ? Number.NaN : Math.min(value, 0);
}
