export { downloadArtifact, type ArtifactDownload, type DownloadedFile } from "./artifact-download.js";
export { uploadArtifact, type ArtifactUpload } from "./artifact-upload.js";
export type { ArtifactProgress, ProgressOptions } from "./artifact-progress.js";
