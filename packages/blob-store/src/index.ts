export { collectGarbage, type GarbageOptions } from "./garbage.js";
export { keyOf as blobKeyOf } from "./keys.js";
export { openBlobStore } from "./open.js";
export type { BlobEntry, BlobInfo, BlobReader, BlobReadOptions, BlobSource, BlobStore } from "./port.js";
export type { S3Access } from "./s3-request.js";
