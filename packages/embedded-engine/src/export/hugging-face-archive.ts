import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { JsonObject } from "@heddle/exact-json";
import { ifExists, readJsonFile } from "@heddle/durable-files";
import { modelConfigJson } from "../weights/config-json.js";
import { auxiliaryFiles, carried } from "../weights/model-directory.js";
import { safetensorsHeader } from "../weights/safetensors.js";
import type { ExportFormat } from "./encode-numbers.js";
import { encodeNumbers } from "./encode-numbers.js";
import type { WrittenParts } from "./written-parts.js";
import type { MergedTensors } from "./merged-tensors.js";
import { tarArchive } from "./tar-archive.js";

/** A tar archive of a directory that `transformers` loads: the merged weights, their configuration and the tokenizer. */
export async function huggingFaceArchive(tensors: MergedTensors, format: ExportFormat): Promise<WrittenParts> {
  const { directory, locations } = tensors;
  const header = safetensorsHeader(
    locations.map(({ tensor, shape }) => ({ name: tensor, shape })),
    format,
  );
  const numbers = locations.reduce((sum, { shape }) => sum + shape.reduce((product, length) => product * length, 1), 0);
  const config = Buffer.from(`${JSON.stringify(await configOf(tensors, format), null, 2)}\n`);
  const others: { name: string; bytes: number }[] = [];
  for (const name of auxiliaryFiles) {
    const found = await ifExists(stat(join(directory, name)));
    if (found?.isFile()) others.push({ name, bytes: found.size });
  }
  return tarArchive([
    { name: "config.json", bytes: config.length, parts: () => [config] },
    ...others.map(({ name, bytes }) => ({ name, bytes, parts: () => fileParts(join(directory, name)) })),
    {
      name: "model.safetensors",
      bytes: header.length + numbers * (format === "F32" ? 4 : 2),
      async *parts() {
        yield header;
        for (const location of locations) yield* encodeNumbers(await tensors.read(location), format);
      },
    },
  ]);
}

/** The configuration of the model as its author wrote it, where there is one; quantised or remote code it cannot have. */
async function configOf({ config, directory, hasConfig }: MergedTensors, format: ExportFormat): Promise<JsonObject> {
  const whole = hasConfig ? await readJsonFile(directory, "config.json") : undefined;
  // Of a model with other parts, such as one that reads images, the part for texts is written.
  const own = whole?.["text_config"] === undefined ? whole : undefined;
  const {
    dtype: _,
    quantization_config: __,
    ...json
  } = own ?? { ...modelConfigJson(config), ...(await carried(directory)) };
  return { ...json, torch_dtype: format === "F32" ? "float32" : "bfloat16" };
}

/** These files are read as a whole; tokenizers have some megabytes. */
async function* fileParts(path: string): AsyncGenerator<Uint8Array> {
  yield await readFile(path);
}
