import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { EmbeddedEngineSettings } from "../src/engine.js";
import { openEmbeddedEngine } from "../src/engine.js";
import type { TrainingEngine, GenerateRequest, Objective, OptimizerSettings, TokenSequence } from "@heddle/training";

export interface OpenEngine {
  engine: TrainingEngine;
  /** A directory of its own for checkpoints. */
  directory: string;
  log: string[];
  /** Processes that were started, oldest first. */
  pids(title: "training" | "sampling"): number[];
  close(): Promise<void>;
}

/** An engine with real child processes on `random:tiny`, and a directory for its checkpoints. */
export async function openEngine(settings: Partial<EmbeddedEngineSettings> = {}): Promise<OpenEngine> {
  const directory = mkdtempSync(join(tmpdir(), "heddle-engine-"));
  const log: string[] = [];
  const engine = await openEmbeddedEngine({
    models: {},
    memoryBytes: 2 ** 31,
    threads: 1,
    idleTrainerMs: 0,
    log: (line) => log.push(line),
    ...settings,
  });
  return {
    engine,
    directory,
    log,
    pids: (title) =>
      log.flatMap((line) => {
        const pid = new RegExp(`^the ${title} process started \\((\\d+)\\)`).exec(line)?.[1];
        return pid === undefined ? [] : [Number(pid)];
      }),
    async close() {
      await engine.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** Returns whether a process is running. A zombie is not. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The state follows the command, which is in parentheses and may contain some.
    return stat[stat.lastIndexOf(")") + 2] !== "Z";
  } catch {
    return process.platform !== "linux";
  }
}

export const tiny = { baseModel: "random:tiny" };

export const adam: OptimizerSettings = {
  learningRate: 1e-2,
  beta1: 0.9,
  beta2: 0.95,
  epsilon: 1e-8,
  weightDecay: 0,
  maxGradientNorm: 1,
};

export function ask(request: Partial<GenerateRequest> = {}): GenerateRequest {
  return {
    weights: tiny,
    prompt: Int32Array.of(300, 301, 302),
    n: 2,
    maxTokens: 12,
    seed: 7,
    ignoreEos: true,
    ...request,
  };
}

/** Meaningless text, the same for the same numbers. */
export function sequences(count: number, length: number, seed = 1): TokenSequence[] {
  let state = seed;
  const next = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return 300 + ((state >>> 16) % 500);
  };
  return Array.from({ length: count }, () => ({
    tokens: Int32Array.from({ length }, next),
    mask: Uint8Array.from({ length }, (_, i) => (i < 4 ? 0 : 1)),
  }));
}

export function lesson(count: number, length: number, seed?: number): Objective {
  return { name: "cross_entropy", sequences: sequences(count, length, seed), normalizer: count * (length - 4) };
}
