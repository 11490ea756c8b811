export type { AnnotationQueues } from "./annotation-queues/annotation-queues.js";
export type { AnnotationQueue, AnnotationQueueItem, QueuedCall } from "./annotation-queues/records.js";
export type { CommittedVersion, NewArtifactVersion, RepeatableVersion } from "./artifacts/commit-version.js";
export { manifestDigest } from "./artifacts/contents.js";
export type { ArtifactCollection, ArtifactContent, ArtifactFile, ArtifactVersion } from "./artifacts/records.js";
export type { ArtifactDraft } from "./artifacts/drafts.js";
export type { Artifacts } from "./artifacts/artifacts.js";
export { type Caller, callerMay, hasRole, type Role } from "./access/callers.js";
export type { NewJob } from "./jobs/insert.js";
export type { Jobs } from "./jobs/jobs.js";
export type { ClaimedJob, Job, JobOutcome, JobProgress } from "./jobs/records.js";
export type { ApiKey, NewApiKey } from "./access/keys.js";
export { isPathName } from "./database/names.js";
export type { Lease } from "./leases/lease-renewal.js";
export type { LeaseHolder, Leases, ListedLease } from "./leases/leases.js";
export { momentAt, type Moment, msSince, steadyNow } from "./moment.js";
export { type ControlPlane, type ControlPlaneOptions, openControlPlane } from "./open.js";
export type { ProjectDeletions } from "./project-deletion/project-deletions.js";
export type { Project, Projects, ProjectsRequest } from "./projects.js";
export { mainShard, type Shard, type Shards } from "./shards.js";
export type { NewTrainingJob } from "./training-jobs/create.js";
export type { TrainingResult } from "./training-jobs/end.js";
export type { TrainingProgress } from "./training-jobs/events.js";
export type { BlobFile, TrainingEventRecord, TrainingJobRecord } from "./training-jobs/records.js";
export { rolloutId, type RolloutRecord } from "./training-jobs/rollouts.js";
export type { TrainingJobs } from "./training-jobs/training-jobs.js";
export type {
  Checkpoint,
  CheckpointParity,
  ModelAdapter,
  ModelOrigin,
  TrainingModel,
} from "./training-models/records.js";
export type { NewTrainingModel } from "./training-models/models.js";
export type { Checkpoints, TrainingModels } from "./training-models/training-models.js";
export type { Share, ShareCheck, Shares } from "./access/shares.js";
export type { ExportLinks, LinkedExport } from "./access/export-links.js";
export type { SessionCheck, Sessions } from "./access/sessions.js";
export type { UrlSignatures } from "./access/url-signatures.js";
export type { User, Users } from "./access/users.js";
export type { ReserveRows } from "./database/reserve.js";
export type { TrackingRun, TrackingRunFields } from "./tracking-runs/tracking-runs.js";
export type { WebhookEvent } from "./webhooks/notify.js";
export type { DueDelivery, Webhook, WebhookDelivery, WebhookEventType } from "./webhooks/records.js";
export type { Webhooks } from "./webhooks/webhooks.js";
export type { KeyCheck } from "./access/verify.js";
export type { WriterEpoch, WriterEpochs } from "./writer-epochs.js";
