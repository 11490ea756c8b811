export type { AnnotationQueues } from "./annotation-queues/annotation-queues.js";
export type { AnnotationQueue, AnnotationQueueItem, QueuedCall } from "./annotation-queues/records.js";
export { type Caller, callerMay, hasRole, type Role } from "./callers.js";
export type { ApiKey, NewApiKey } from "./keys.js";
export { isPathName } from "./names.js";
export type { Lease } from "./lease-renewal.js";
export { type ControlPlane, type ControlPlaneOptions, openControlPlane } from "./open.js";
export type { Project, Projects } from "./projects.js";
export type { User, Users } from "./users.js";
