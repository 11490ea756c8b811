import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { HeddleError } from "@heddle/errors";
import { isJsonObject } from "@heddle/exact-json";
import type { JsonObject } from "@heddle/exact-json";
import { ifExists, readJsonFile } from "@heddle/durable-files";
import type { GgufValue } from "./gguf-file.js";

const maxTokenizerBytes = 2 ** 28;
const english = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|";
const others = "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
/** Names of llama.cpp for the patterns by which texts are split before byte pairs are merged. */
const patterns = new Map([
  [`${english}\\p{N}${others}`, "qwen2"],
  [`${english}\\p{N}{1,3}${others}`, "llama-bpe"],
]);

const tokenTypes = { normal: 1, control: 3, userDefined: 4, unused: 5 } as const;

/**
 * The metadata of the tokenizer of a directory: byte pairs over bytes, as GPT-2 has them.
 *
 * @throws HeddleError `unsupported` for other kinds, and for a pattern that llama.cpp has no name for: it would split texts
 *   differently from the training.
 */
export async function ggufTokenizer(directory: string, vocabularySize: number): Promise<[string, GgufValue][]> {
  const tokenizer = await readJsonFile(directory, "tokenizer.json", maxTokenizerBytes);
  const model = objectOf(tokenizer["model"]);
  if (model["type"] !== "BPE" || model["byte_fallback"] === true)
    throw unsupported(`${textOf(model["type"])}${model["byte_fallback"] === true ? " with byte_fallback" : ""}`);
  const split = patternOf(tokenizer["pre_tokenizer"]);
  const tokens: string[] = [];
  const types: number[] = [];
  const put = (id: unknown, token: unknown, type: number) => {
    if (typeof id !== "number" || !Number.isInteger(id) || id < 0 || id >= vocabularySize) return;
    tokens[id] = String(token);
    types[id] = type;
  };
  for (const [token, id] of Object.entries(objectOf(model["vocab"]))) put(id, token, tokenTypes.normal);
  for (const added of listOf(tokenizer["added_tokens"]).map(objectOf))
    put(added["id"], added["content"], added["special"] === true ? tokenTypes.control : tokenTypes.userDefined);
  for (let id = 0; id < vocabularySize; id++) {
    tokens[id] ??= `[PAD${id}]`;
    types[id] ??= tokenTypes.unused;
  }
  const merges = listOf(model["merges"]).map((merge) => (Array.isArray(merge) ? merge.join(" ") : String(merge)));
  return [
    ["tokenizer.ggml.model", { type: "string", value: "gpt2" }],
    ["tokenizer.ggml.pre", { type: "string", value: split }],
    ["tokenizer.ggml.tokens", { type: "strings", value: tokens }],
    ["tokenizer.ggml.token_type", { type: "int32s", value: types }],
    ["tokenizer.ggml.merges", { type: "strings", value: merges }],
    ...(await specialTokens(directory, tokens)),
  ];
}

function patternOf(splitting: unknown): string {
  const { type, pretokenizers, use_regex: usesRegex } = objectOf(splitting);
  if (type === "ByteLevel" && usesRegex !== false) return "gpt-2";
  const steps = type === "Sequence" ? listOf(pretokenizers).map(objectOf) : [];
  const [first = {}, second = {}] = steps;
  const isBytes = steps.length === 2 && second["type"] === "ByteLevel" && second["add_prefix_space"] === false;
  if (isBytes && first["type"] === "Digits" && first["individual_digits"] === true && second["use_regex"] !== false)
    return "smollm";
  const pattern = objectOf(first["pattern"])["Regex"];
  const isSplit = first["type"] === "Split" && first["behavior"] === "Isolated" && first["invert"] !== true;
  const name = isBytes && isSplit && second["use_regex"] === false ? patterns.get(String(pattern)) : undefined;
  if (name !== undefined) return name;
  throw unsupported(`byte pairs that are split by ${textOf(pattern ?? type)}, which llama.cpp has no name for`);
}

/** The tokens at the beginning and the end of texts, and the template of conversations. */
async function specialTokens(directory: string, tokens: readonly string[]): Promise<[string, GgufValue][]> {
  const read = async (name: string) => (await ifExists(readJsonFile(directory, name).catch(unlessMissing))) ?? {};
  const config = await read("config.json");
  const generation = await read("generation_config.json");
  const tokenizer = await read("tokenizer_config.json");
  const found: [string, GgufValue][] = [];
  for (const name of ["bos", "eos"] as const) {
    // The tokenizer's own is what ends a turn, where the model has several.
    const named = tokenizer[`${name}_token`];
    const token = isJsonObject(named) ? named["content"] : named;
    const known = typeof token === "string" ? tokens.indexOf(token) : -1;
    const listed = generation[`${name}_token_id`] ?? config[`${name}_token_id`];
    const first: unknown = Array.isArray(listed) ? listed[0] : listed;
    const id = known < 0 ? first : known;
    if (typeof id === "number" && id < tokens.length)
      found.push([`tokenizer.ggml.${name}_token_id`, { type: "uint32", value: id }]);
  }
  const adds = tokenizer["add_bos_token"];
  found.push(["tokenizer.ggml.add_bos_token", { type: "bool", value: adds === true }]);
  const separate = await ifExists(readFile(join(directory, "chat_template.jinja"), "utf8"));
  const template = separate ?? tokenizer["chat_template"];
  if (typeof template === "string") found.push(["tokenizer.chat_template", { type: "string", value: template }]);
  return found;
}

function unlessMissing(error: unknown): JsonObject {
  if (error instanceof HeddleError && error.code === "not_found") return {};
  throw error;
}

const objectOf = (value: unknown): JsonObject => (isJsonObject(value) ? value : {});
const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const textOf = (value: unknown): string => (JSON.stringify(value) ?? "nothing").slice(0, 200);

function unsupported(what: string): HeddleError {
  return new HeddleError("unsupported", `tokenizer.json: a tokenizer of ${what} cannot be written as GGUF`);
}
