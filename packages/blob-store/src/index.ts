export { BlobError } from "./errors.js";
export { openBlobStore } from "./open.js";
export type { BlobEntry, BlobInfo, BlobReader, BlobReadOptions, BlobSource, BlobStore } from "./port.js";
