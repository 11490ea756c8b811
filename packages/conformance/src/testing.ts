// Requests and tenants for the tests of a server.
export { readContract, writes } from "./contract.js";
export type { PlanOperation } from "./plan.js";
export { storeRatedCall, storeRunnable } from "./prerequisites.js";
export { exampleRequest, toHttp } from "./requests.js";
export type { RequestParts } from "./requests.js";
export { createTenant, secret, withoutNames, withSecret } from "./tenant.js";
export type { Tenant } from "./tenant.js";
