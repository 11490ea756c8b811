// Parts of a job, for tests of engines that run them.
export { openBaseModel } from "../src/jobs/base-model.js";
export { runGradientSteps } from "../src/jobs/gradient-loop.js";
export type { PolicyJob } from "../src/jobs/policy-job.js";
export { policyPlan } from "../src/jobs/policy-plan.js";
export { preferencePlan } from "../src/jobs/preference-plan.js";
export type { PreferenceRow } from "../src/trajectories/preference-sequences.js";
export { supervisedPlan } from "../src/jobs/supervised-plan.js";
export type { TableEngine } from "./table-engine.js";
export { tableEngine } from "./table-engine.js";
