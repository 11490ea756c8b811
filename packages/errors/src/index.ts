export type { ErrorCode } from "./error-code.js";
export { HeddleError, type HeddleErrorOptions, type Loc } from "./heddle-error.js";
export { mapErrors } from "./map-errors.js";
export { Mistakes } from "./mistakes.js";
export { withLoc } from "./with-loc.js";
