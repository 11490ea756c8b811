import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { ModelConfig } from "../../src/model/config.js";
import type { ParameterSet } from "../../src/model/parameters.js";
import { readCheckpoint, writeCheckpoint } from "../../src/weights/checkpoint.js";
import { randomDigest } from "../../src/weights/weights-digest.js";
import type { OptimizerState } from "../../src/weights/optimizer-file.js";

interface State {
  config: ModelConfig;
  weights: ParameterSet;
  optimizer: OptimizerState;
}

/** `step-000250` and so on: complete checkpoints, of which the newest two are kept. */
const name = /^step-\d+$/;

/** The newest state of a model of this shape in the work directory, or undefined. */
export async function latestState(work: string, config: ModelConfig): Promise<State | undefined> {
  const [newest] = await checkpoints(work);
  if (!newest) return undefined;
  const state = await readCheckpoint(join(work, newest), config, { optimizer: true });
  const { trained, optimizer } = state;
  if (!("weights" in trained) || !optimizer || state.config.hiddenSize !== config.hiddenSize) {
    throw new Error(`${join(work, newest)} is not a state of this run: use another --work directory`);
  }
  return { config, weights: trained.weights, optimizer };
}

export async function keepState(work: string, state: State, baseDirectory: string, seed: number): Promise<void> {
  const { config, weights, optimizer } = state;
  const { steps } = optimizer;
  await writeCheckpoint(join(work, `step-${String(steps).padStart(6, "0")}`), {
    baseModel: "heddle/starter",
    baseDigest: randomDigest(config, seed),
    baseDirectory,
    config,
    seed,
    trained: { weights },
    steps,
    optimizer,
  });
  for (const old of (await checkpoints(work)).slice(2)) await rm(join(work, old), { recursive: true });
}

async function checkpoints(work: string): Promise<string[]> {
  await mkdir(work, { recursive: true });
  return (await readdir(work))
    .filter((entry) => name.test(entry))
    .toSorted()
    .toReversed();
}
