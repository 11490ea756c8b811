import { modelAttacks } from "./model-attacks.js";
import { routeAttacks } from "./route-attacks.js";
import { traceAttacks } from "./trace-attacks.js";

/** All attacks by name. */
export const attacks = { ...traceAttacks, ...routeAttacks, ...modelAttacks };
export type AttackName = keyof typeof attacks;
