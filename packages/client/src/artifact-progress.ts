import type { RequestOptions } from "./connection.js";

/** How far an upload or a download is. */
export interface ArtifactProgress {
  /** Path of the file that is transferred. */
  path: string;
  /** Bytes of all files that are transferred, those that need not be sent included. */
  transferred: number;
  /** Bytes of all files. */
  total: number;
}

export interface ProgressOptions extends RequestOptions {
  onProgress?: (progress: ArtifactProgress) => void;
}
