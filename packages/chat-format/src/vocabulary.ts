import { HeddleError } from "@heddle/errors";
import { isJsonObject } from "@heddle/exact-json";

export interface Vocabulary {
  /** Tokens by id; undefined for an unused id. */
  tokens: (string | undefined)[];
  ids: Map<string, number>;
  /** Ids of added tokens, which are matched verbatim and not produced by merges. */
  added: Set<number>;
  /** Ids of the added tokens that are control tokens. */
  special: Set<number>;
}

const maxVocabularySize = 1 << 21;

/** Reads the vocabulary of a `tokenizer.json` and validates what the tokenizer library does not. */
export function readVocabulary(definition: Record<string, unknown>): Vocabulary {
  const model = definition["model"];
  if (!isJsonObject(model)) throw new HeddleError("invalid", "model must be an object");
  // Older files have no type.
  const type = model["type"] ?? (Array.isArray(model["merges"]) ? "BPE" : undefined);
  if (type !== "BPE")
    throw new HeddleError("unsupported", `model.type: ${JSON.stringify(type)}; only BPE is supported`);
  if (!isJsonObject(model["vocab"])) throw new HeddleError("invalid", "model.vocab must be an object");
  if (!Array.isArray(model["merges"]) || !model["merges"].every(isMerge)) {
    throw new HeddleError("invalid", "model.merges must be a list of pairs");
  }
  if (!Array.isArray(definition["added_tokens"])) throw new HeddleError("invalid", "added_tokens must be a list");

  const vocabulary: Vocabulary = { tokens: [], ids: new Map(), added: new Set(), special: new Set() };
  for (const [token, id] of Object.entries(model["vocab"]))
    addToken(vocabulary, `model.vocab ${JSON.stringify(token)}`, token, id);
  for (const [index, each] of definition["added_tokens"].entries()) {
    const field = `added_tokens.${index}`;
    if (!isJsonObject(each) || typeof each["content"] !== "string" || each["content"] === "") {
      throw new HeddleError("invalid", `${field}.content must be text that is not empty`);
    }
    const id = addToken(vocabulary, `${field}.id`, each["content"], each["id"]);
    vocabulary.added.add(id);
    if (each["special"] === true) vocabulary.special.add(id);
  }
  if (vocabulary.ids.size === 0) throw new HeddleError("invalid", "model.vocab must not be empty");
  return vocabulary;
}

function addToken({ tokens, ids }: Vocabulary, field: string, token: string, id: unknown): number {
  if (typeof id !== "number" || !Number.isInteger(id) || id < 0 || id >= maxVocabularySize) {
    throw new HeddleError("invalid", `${field}: ${JSON.stringify(id)} is not a token id`);
  }
  if (tokens[id] !== undefined && tokens[id] !== token) {
    throw new HeddleError("invalid", `${field}: id ${id} is already used by ${JSON.stringify(tokens[id])}`);
  }
  while (tokens.length <= id) tokens.push(undefined);
  tokens[id] = token;
  ids.set(token, id);
  return id;
}

function isMerge(merge: unknown): boolean {
  if (typeof merge === "string") return merge.includes(" ");
  return Array.isArray(merge) && merge.length === 2 && merge.every((part) => typeof part === "string");
}
