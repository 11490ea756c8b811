import { randomUUID } from "node:crypto";
import { copyFile, link, mkdir, readdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ControlPlane } from "@heddle/control-plane";
import { ifExists, pathExists, syncFile } from "@heddle/durable-files";
import { HeddleError } from "@heddle/errors";
import { writeDirectory } from "../artifacts/write-directory.js";
import type { Config } from "../config/config.js";
import type { BlobStore } from "@heddle/blob-store";
import type { TrainingEngine } from "@heddle/training";
import type { CheckpointDirectories } from "./checkpoint-directories.js";

type Used = { config: Config; control: ControlPlane; blobs: BlobStore; training: TrainingEngine };

/** Opens the local copies of weights below the data directory. */
export function openCheckpointDirectories(services: Used): CheckpointDirectories {
  return new Directories(services);
}

class Directories implements CheckpointDirectories {
  readonly #services: Used;
  readonly #root: string;
  readonly #writing = new Map<string, Promise<void>>();
  /** Digests of directories that will have a checkpoint. */
  readonly #adopted = new Set<string>();

  constructor(services: Used) {
    this.#services = services;
    this.#root = join(services.config.dataDir, "training", "checkpoints");
  }

  async directoryOf({
    weights_digest,
    artifact_version,
  }: Parameters<CheckpointDirectories["directoryOf"]>[0]): Promise<string> {
    if (artifact_version === null || weights_digest === null) throw deleted();
    const directory = this.#path(weights_digest);
    if (pathExists(directory)) return directory;
    const version = await this.#services.control.artifacts.byId(artifact_version);
    if (version === undefined) throw deleted();
    const writing = this.#writing.get(directory) ?? writeDirectory(this.#services, version, directory);
    this.#writing.set(directory, writing);
    await writing.finally(() => this.#writing.delete(directory));
    return directory;
  }

  async adopt(source: string, paths: readonly string[], digest: string): Promise<string> {
    this.#adopted.add(digest);
    const directory = this.#path(digest);
    if (pathExists(directory)) return directory;
    const draft = `${directory}.${randomUUID()}${draftEnd}`;
    try {
      for (const path of paths) {
        await mkdir(dirname(join(draft, path)), { recursive: true });
        await linkOrCopy(join(source, path), join(draft, path));
      }
      await rename(draft, directory).catch((error: unknown) => {
        if (!pathExists(directory)) throw error;
      });
    } finally {
      await rm(draft, { recursive: true, force: true });
    }
    return directory;
  }

  hold(digest: string): void {
    this.#adopted.add(digest);
  }

  release(digest: string): void {
    this.#adopted.delete(digest);
  }

  async sweep({ drafts = false }: { drafts?: boolean } = {}): Promise<void> {
    const { control, training } = this.#services;
    const names = (await ifExists(readdir(this.#root))) ?? [];
    const known = await control.trainingModels.checkpoints.findWeights(names);
    for (const name of names) {
      const weights = known.get(name);
      if (weights?.in_use === true || this.#adopted.has(name) || (name.endsWith(draftEnd) && !drafts)) continue;
      const directory = this.#path(name);
      if (weights !== undefined) {
        const ref = { baseModel: weights.base_model, checkpoint: directory };
        await training.sampler.unload(ref).catch(() => undefined);
        await training.deleteWeights(ref).catch(() => undefined);
      }
      await rm(directory, { recursive: true, force: true });
    }
  }

  #path(digest: string): string {
    return join(this.#root, digest);
  }
}

const draftEnd = ".draft";

function deleted(): HeddleError {
  return new HeddleError("not_found", "the weights of this checkpoint are deleted", { loc: [] });
}

/** Some file systems have no links. */
async function linkOrCopy(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch {
    await copyFile(from, to);
    await syncFile(to);
  }
}
