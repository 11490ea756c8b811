import type { WeightsRef } from "@heddle/training";
import { HeddleError } from "@heddle/errors";
import type { BaseModelSettings } from "../weights/base-models.js";
import { exportName } from "../weights/base-models.js";
import type { ExportFormat } from "./encode-numbers.js";
import { ggufFile } from "./gguf-file.js";
import { ggufModel } from "./gguf-model.js";
import { huggingFaceArchive } from "./hugging-face-archive.js";
import { openMergedTensors } from "./merged-tensors.js";

export interface ModelExport {
  /** `huggingface`: a tar archive of a directory that `transformers` loads. `gguf`: a file that llama.cpp loads. */
  layout: "huggingface" | "gguf";
  format: ExportFormat;
}

/**
 * Writes a model with its adapter merged into it, part by part: the first one says how many bytes follow. Needs memory for
 * the adapter and the largest tensor.
 *
 * @throws HeddleError `unsupported`, with what it is, for a model that the layout cannot have.
 */
export async function* exportModel(
  settings: BaseModelSettings,
  weights: WeightsRef,
  { layout, format }: ModelExport,
): AsyncGenerator<{ bytes: number } | Uint8Array> {
  const tensors = await openMergedTensors(settings, weights);
  try {
    const archive =
      layout === "gguf"
        ? ggufFile(await ggufModel(tensors, { format, name: await exportName(settings, weights.baseModel) }))
        : await huggingFaceArchive(tensors, format);
    yield { bytes: archive.bytes };
    let sent = 0;
    for await (const part of archive.parts()) {
      sent += part.length;
      yield part;
    }
    if (sent !== archive.bytes) throw new HeddleError("failed", `the export has ${sent} bytes, not ${archive.bytes}`);
  } finally {
    await tensors.close();
  }
}
