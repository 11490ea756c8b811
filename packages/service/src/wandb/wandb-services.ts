import type { BlobStore } from "@heddle/blob-store";
import type { ControlPlane } from "@heddle/control-plane";
import type { Config } from "../config/config.js";

/** What the routes of `wandb` use. */
export interface WandbServices {
  config: Pick<Config, "defaultEntity" | "limits" | "publicUrl">;
  control: ControlPlane;
  blobs: BlobStore;
}
