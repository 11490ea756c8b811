import { insertVersion } from "../artifacts/commit-version.js";
import type { CommittedVersion, NewArtifactVersion } from "../artifacts/commit-version.js";
import type { Statements } from "../database/database.js";

export interface NewWeights extends Pick<NewArtifactVersion, "project_id" | "name" | "files" | "created_by"> {
  metadata?: string | undefined;
  step: bigint;
}

/** Adds the version of a model's artifact that its checkpoint of a step has. */
export async function insertWeights(
  statements: Statements,
  { step, metadata, ...weights }: NewWeights,
  now: bigint,
): Promise<CommittedVersion> {
  return await insertVersion(
    statements,
    {
      ...weights,
      ...(metadata !== undefined && { metadata }),
      type: "lora",
      aliases: [`step${step}`],
      // The first version of a model is v0 where step 0 has weights of its own: versions then count as steps do.
      leastIndex: step === 0n ? 0n : 1n,
    },
    now,
  );
}
