import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const starter = fileURLToPath(new URL("../../../embedded-engine/models/starter/", import.meta.url));

type Header = Record<string, { dtype: string; shape: number[]; data_offsets: [number, number] }>;

/** Writes `heddle/starter` with a vocabulary of this size to a directory. The tokens that are added are about as likely as others. */
export function writeLargeVocabulary(directory: string, vocabularySize: number): void {
  mkdirSync(directory, { recursive: true });
  for (const name of ["generation_config.json", "tokenizer_config.json"]) {
    cpSync(join(starter, name), join(directory, name));
  }
  const config = readJson("config.json") as { vocab_size: number };
  const tokenizer = readJson("tokenizer.json") as { model: { vocab: Record<string, number> } };
  for (let id = config.vocab_size; id < vocabularySize; id++) tokenizer.model.vocab[`added${id}`] = id;
  writeFileSync(join(directory, "tokenizer.json"), JSON.stringify(tokenizer));
  writeFileSync(join(directory, "config.json"), JSON.stringify({ ...config, vocab_size: vocabularySize }));
  writeFileSync(join(directory, "model.safetensors"), withRows(vocabularySize));
}

function readJson(name: string): unknown {
  return JSON.parse(readFileSync(join(starter, name), "utf8"));
}

/** The weights, with the rows of the embedding repeated. */
function withRows(rows: number): Buffer {
  const file = readFileSync(join(starter, "model.safetensors"));
  const start = 8 + Number(file.readBigUInt64LE(0));
  const { __metadata__: _, ...tensors } = JSON.parse(file.toString("utf8", 8, start)) as Header;
  const header: Header = {};
  const data: Buffer[] = [];
  let end = 0;
  for (const [name, { dtype, shape, data_offsets: offsets }] of Object.entries(tensors)) {
    const isEmbedding = name === "model.embed_tokens.weight";
    const bytes = file.subarray(start + offsets[0], start + offsets[1]);
    const written = isEmbedding ? Buffer.alloc((bytes.length / (shape[0] ?? 1)) * rows, bytes) : bytes;
    header[name] = {
      dtype,
      shape: isEmbedding ? [rows, ...shape.slice(1)] : shape,
      data_offsets: [end, (end += written.length)],
    };
    data.push(written);
  }
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([length, text, ...data]);
}
