import { EngineError } from "../engine-error.js";

/** Runs work on files; what the system refuses there (a full disk, missing rights) becomes `failed`, saying what failed. */
export async function withFileErrors<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof EngineError) throw error;
    throw new EngineError("failed", `${what}: ${error instanceof Error ? error.message : String(error)}`);
  }
}
