import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { fixtures } from "../../test/weight-files.js";
import { createCpuTrainer } from "../embedded/trainer/trainer.js";
import { readAdapter, type Adapter } from "./adapter.js";
import { loadModel, type Model } from "./model-directory.js";
import { openSafetensors } from "./safetensors.js";

/** Largest difference between our log-probabilities of the sequences' tokens and those that were recorded. */
async function worstDifference(expectedDirectory: string, model: Model, adapter?: Adapter): Promise<number> {
  const sequences: number[][] = JSON.parse(await readFile(join(expectedDirectory, "sequences.json"), "utf8"));
  const expected = await openSafetensors(join(expectedDirectory, "expected.safetensors"));
  const trainer = await createCpuTrainer({ ...model, adapter, memoryBytes: 1e9 });
  try {
    const longer = sequences.filter((tokens) => tokens.length > 1);
    const ours = await trainer.logprobs(
      longer.map((tokens) => ({
        tokens: Int32Array.from(tokens),
        mask: Uint8Array.from(tokens, (_, at) => (at === 0 ? 0 : 1)),
      })),
    );
    let worst = 0;
    for (const [index, tokens] of longer.entries()) {
      const table = await expected.read(`logprobs.${sequences.indexOf(tokens)}`);
      for (let at = 1; at < tokens.length; at++) {
        const theirs = table[(at - 1) * model.config.vocabularySize + tokens[at]!]!;
        // Not Math.max: NaN must not be the smaller one.
        const difference = Math.abs(ours[index]![at]! - theirs);
        if (!(difference <= worst)) worst = difference;
      }
    }
    return worst;
  } finally {
    await trainer.close();
    await expected.close();
  }
}

test.each(await readdir(join(fixtures, "models")))(
  "%s has the log-probabilities that transformers gives it",
  async (name) => {
    const directory = join(fixtures, "models", name);
    expect(await worstDifference(directory, await loadModel(directory))).toBeLessThan(1e-4);
  },
);

test("an adapter changes a model as it does in PEFT", async () => {
  const model = await loadModel(join(fixtures, "models", "qwen3-tied"));
  const directory = join(fixtures, "adapters", "qwen3-tied-lora");
  const adapter = await readAdapter(directory, model.config);
  expect(await worstDifference(directory, model, adapter)).toBeLessThan(1e-4);
  expect(await worstDifference(directory, model)).toBeGreaterThan(0.1);
});
