import type { Checkpoint } from "@heddle/control-plane";

/**
 * Local copies of the weights of checkpoints, for the processes that train and sample. A directory has the digest of its
 * files as name, so what is in it never changes; one that was removed is made again when it is needed.
 */
export interface CheckpointDirectories {
  /**
   * Returns the absolute path of the weights of a checkpoint, written from the artifact when it is missing. Throws
   * `not_found` if the weights were deleted, and for a checkpoint without weights of its own.
   */
  directoryOf(checkpoint: Pick<Checkpoint, "artifact_version" | "weights_digest">): Promise<string>;
  /**
   * Makes the directory of weights from files of another directory on the same disk, and keeps it until `release`. Returns
   * its path.
   */
  adopt(source: string, paths: readonly string[], digest: string): Promise<string>;
  /** Keeps the directory of weights, which may be made later, until `release`. */
  hold(digest: string): void;
  /** Lets `sweep` remove an adopted directory unless a checkpoint has it. */
  release(digest: string): void;
  /** Removes the directories that no checkpoint has; with `drafts`, also what a process left behind that crashed. */
  sweep(options?: { drafts?: boolean }): Promise<void>;
}
