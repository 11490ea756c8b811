import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { openEmbeddedEngine } from "@heddle/embedded-engine";
import type { TrainingEngine } from "@heddle/training";
import type { Config } from "../config.js";

/** Opens what trains and samples. Its processes start with the first request that needs them. */
export async function openTrainingEngine(
  { modelsDir, trainingMemoryBytes, trainingConcurrency }: Config,
  log: (line: string) => void,
): Promise<TrainingEngine> {
  return await openEmbeddedEngine({
    models: { directories: modelDirectories(modelsDir) },
    memoryBytes: trainingMemoryBytes,
    trainingProcesses: trainingConcurrency,
    log,
  });
}

/** The directories in the directory of models, by their names. */
function modelDirectories(modelsDir: string): Record<string, string> {
  const directories = entriesOf(modelsDir).map((name): [string, string] => [name, join(modelsDir, name)]);
  return Object.fromEntries(directories.filter(([, path]) => statSync(path).isDirectory()));
}

/** A directory of models that does not exist holds none. */
function entriesOf(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  }
}
