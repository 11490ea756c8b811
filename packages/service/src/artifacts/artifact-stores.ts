import type { BlobStore } from "@heddle/blob-store";
import type { ControlPlane } from "@heddle/control-plane";

/** Where artifacts are: their versions and their bytes. */
export interface ArtifactStores {
  control: Pick<ControlPlane, "artifacts">;
  blobs: BlobStore;
}
