import { HeddleError } from "@heddle/errors";
import { isObject } from "./model-file.js";

export interface Vocabulary {
  /** By id; undefined where an id is not taken. */
  tokens: (string | undefined)[];
  ids: Map<string, number>;
  /** Ids of the tokens that stand beside the merges, spelled as they are. */
  added: Set<number>;
  /** Those of them that are control tokens. */
  special: Set<number>;
}

const maxVocabularySize = 1 << 21;

/** Checks the parts of a `tokenizer.json` that the tokenizer library takes on trust. */
export function readVocabulary(definition: Record<string, unknown>): Vocabulary {
  const model = definition["model"];
  if (!isObject(model)) throw new HeddleError("invalid", "model: not an object");
  // Old files have no type.
  const type = model["type"] ?? (Array.isArray(model["merges"]) ? "BPE" : undefined);
  if (type !== "BPE") throw new HeddleError("unsupported", `model.type: ${JSON.stringify(type)}; only BPE is known`);
  if (!isObject(model["vocab"])) throw new HeddleError("invalid", "model.vocab: not an object");
  if (!Array.isArray(model["merges"]) || !model["merges"].every(isMerge)) {
    throw new HeddleError("invalid", "model.merges: not a list of pairs");
  }
  if (!Array.isArray(definition["added_tokens"])) throw new HeddleError("invalid", "added_tokens: not a list");

  const vocabulary: Vocabulary = { tokens: [], ids: new Map(), added: new Set(), special: new Set() };
  for (const [token, id] of Object.entries(model["vocab"]))
    addToken(vocabulary, `model.vocab ${JSON.stringify(token)}`, token, id);
  for (const [index, each] of definition["added_tokens"].entries()) {
    const field = `added_tokens.${index}`;
    if (!isObject(each) || typeof each["content"] !== "string" || each["content"] === "") {
      throw new HeddleError("invalid", `${field}.content: not a text`);
    }
    const id = addToken(vocabulary, `${field}.id`, each["content"], each["id"]);
    vocabulary.added.add(id);
    if (each["special"] === true) vocabulary.special.add(id);
  }
  if (vocabulary.ids.size === 0) throw new HeddleError("invalid", "model.vocab: empty");
  return vocabulary;
}

function addToken({ tokens, ids }: Vocabulary, field: string, token: string, id: unknown): number {
  if (typeof id !== "number" || !Number.isInteger(id) || id < 0 || id >= maxVocabularySize) {
    throw new HeddleError("invalid", `${field}: ${JSON.stringify(id)} is not a token id`);
  }
  if (tokens[id] !== undefined && tokens[id] !== token) {
    throw new HeddleError("invalid", `${field}: id ${id} is ${JSON.stringify(tokens[id])} already`);
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
