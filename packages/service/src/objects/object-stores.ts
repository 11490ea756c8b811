import type { BlobStore } from "@heddle/blob-store";
import type { TraceStore } from "@heddle/trace-store";

/** Where objects are kept, and the source code of ops. */
export interface ObjectStores {
  blobs: BlobStore;
  store: TraceStore;
}
