import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Checkpoint } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import { writeDirectory } from "../artifacts/write-directory.js";
import type { Services } from "../services.js";

/** Local directories with the weights of checkpoints. Each is named by the content, so that it is never outdated. */
export class CheckpointDirectories {
  readonly #services: Pick<Services, "config" | "control" | "blobs">;
  readonly #writing = new Map<string, Promise<void>>();

  constructor(services: Pick<Services, "config" | "control" | "blobs">) {
    this.#services = services;
  }

  /** The directory of the weights, written from the artifact when it is missing. Throws `not_found` without either. */
  async directoryOf({ artifact_version, weights_digest }: Checkpoint): Promise<string> {
    const { config, control } = this.#services;
    if (artifact_version === null || weights_digest === null) throw deleted();
    const directory = join(config.dataDir, "training", "checkpoints", weights_digest);
    if (existsSync(directory)) return directory;
    const version = await control.artifacts.byId(artifact_version);
    if (version === undefined) throw deleted();
    const writing = this.#writing.get(directory) ?? writeDirectory(this.#services, version, directory);
    this.#writing.set(directory, writing);
    await writing.finally(() => this.#writing.delete(directory));
    return directory;
  }
}

function deleted(): HeddleError {
  return new HeddleError("not_found", "the weights of this checkpoint are deleted", { loc: [] });
}
