export { openConstraints } from "./constraints.js";
export type { ConstraintSession, ConstraintWork, Constraints, NextTokens } from "./constraints.js";
export { structuredOutputsAvailable } from "./xgrammar-library.js";
export type { StructuredOutput } from "./structured-output.js";
