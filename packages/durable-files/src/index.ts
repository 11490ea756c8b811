export {
  digestFile,
  makeDurableDirectory,
  replaceDurableFile,
  syncDirectory,
  syncFile,
  writeDurableFile,
} from "./durable-file.js";
export type { WrittenFile } from "./durable-file.js";
export { readStored, systemReason, withFileErrors } from "./file-errors.js";
export { ifExists, isMissing, pathExists } from "./if-exists.js";
export { readJsonFile } from "./json-file.js";
