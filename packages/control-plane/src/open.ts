import { openAnnotationQueues } from "./annotation-queues/annotation-queues.js";
import type { AnnotationQueues } from "./annotation-queues/annotation-queues.js";
import { openArtifacts } from "./artifacts/artifacts.js";
import type { Artifacts } from "./artifacts/artifacts.js";
import type { Caller } from "./access/callers.js";
import { ensureIdentity } from "./identity.js";
import { createKey, findKey, listKeys, renameKey, revokeKey } from "./access/keys.js";
import type { ApiKey, NewApiKey } from "./access/keys.js";
import { openJobs } from "./jobs/jobs.js";
import type { Jobs } from "./jobs/jobs.js";
import { openLeases } from "./leases/leases.js";
import type { Leases } from "./leases/leases.js";
import { migrate } from "./migrations/migrate.js";
import { foundation } from "./migrations/0001-foundation.js";
import { leases } from "./migrations/0002-leases.js";
import { annotationQueues } from "./migrations/0003-annotation-queues.js";
import { jobs } from "./migrations/0004-jobs.js";
import { trainingModels } from "./migrations/0005-training-models.js";
import { trainingJobs } from "./migrations/0006-training-jobs.js";
import { artifacts } from "./migrations/0007-artifacts.js";
import { trackingRuns } from "./migrations/0008-tracking-runs.js";
import { jobTurns } from "./migrations/0009-job-turns.js";
import { sessions } from "./migrations/0010-sessions.js";
import { projectDeletions } from "./migrations/0011-project-deletions.js";
import { trainingReads } from "./migrations/0012-training-reads.js";
import { trainingRollouts } from "./migrations/0013-training-rollouts.js";
import { webhooks } from "./migrations/0014-webhooks.js";
import { repeatableRequests } from "./migrations/0015-repeatable-requests.js";
import { links } from "./migrations/0016-links.js";
import { projectShards } from "./migrations/0024-project-shards.js";
import { leaseAddresses } from "./migrations/0019-lease-addresses.js";
import { jobBeats } from "./migrations/0020-job-beats.js";
import { boundedTexts } from "./migrations/0021-bounded-texts.js";
import { preferenceJobs } from "./migrations/0022-preference-jobs.js";
import { modelOrigins } from "./migrations/0023-model-origins.js";
import { writerEpochs } from "./migrations/writer-epochs.js";
import { webhookPositions } from "./migrations/0018-webhook-positions.js";
import { webhookThresholds } from "./migrations/0017-webhook-thresholds.js";
import { checkPathName, isStorable } from "./database/names.js";
import { openProjectDeletions } from "./project-deletion/project-deletions.js";
import type { ProjectDeletions } from "./project-deletion/project-deletions.js";
import { openProjects } from "./projects.js";
import { openShards } from "./shards.js";
import type { Shards } from "./shards.js";
import type { Projects } from "./projects.js";
import { openRepeatableRequests } from "./repeatable-requests/repeatable-requests.js";
import type { RepeatableRequests } from "./repeatable-requests/repeatable-requests.js";
import { openDatabase } from "./database/open-database.js";
import { openTrainingJobs } from "./training-jobs/training-jobs.js";
import type { TrainingJobs } from "./training-jobs/training-jobs.js";
import { openTrainingModels } from "./training-models/training-models.js";
import type { TrainingModels } from "./training-models/training-models.js";
import { openTrackingRuns } from "./tracking-runs/tracking-runs.js";
import type { TrackingRuns } from "./tracking-runs/tracking-runs.js";
import { shownPrefix } from "./access/secret.js";
import { openSessions } from "./access/sessions.js";
import type { Sessions } from "./access/sessions.js";
import { openExportLinks } from "./access/export-links.js";
import type { ExportLinks } from "./access/export-links.js";
import { openKeyChecks } from "./access/key-checks.js";
import { openShares } from "./access/shares.js";
import type { Shares } from "./access/shares.js";
import { openUrlSignatures } from "./access/url-signatures.js";
import type { UrlSignatures } from "./access/url-signatures.js";
import { openUsers } from "./access/users.js";
import type { Users } from "./access/users.js";
import { steadyClock } from "./steady-clock.js";
import { openWebhooks } from "./webhooks/webhooks.js";
import type { Webhooks } from "./webhooks/webhooks.js";
import { openVerifier } from "./access/verify.js";
import type { KeyCheck } from "./access/verify.js";
import { openWriterEpochs } from "./writer-epochs.js";
import type { WriterEpochs } from "./writer-epochs.js";

export interface ControlPlane {
  /** UUID of this instance, made once per database. */
  identity: string;
  users: Users;
  projects: Projects;
  projectDeletions: ProjectDeletions;
  annotationQueues: AnnotationQueues;
  jobs: Jobs;
  trainingModels: TrainingModels;
  trainingJobs: TrainingJobs;
  artifacts: Artifacts;
  trackingRuns: TrackingRuns;
  webhooks: Webhooks;
  /** Of browsers, which have the rights of a key without keeping it. */
  sessions: Sessions;
  /** To what is downloaded without a key. */
  exportLinks: ExportLinks;
  /** Of single traces, with anybody who has the link. */
  shares: Shares;
  /** Of URLs that give the access of a key by themselves. */
  urlSignatures: UrlSignatures;
  /** Requests that are carried out once, however often they come. */
  repeatableRequests: RepeatableRequests;
  /** The tracing databases, and which of them each project is in. */
  shards: Shards;
  /** What only one process may have at a time. */
  leases: Leases;
  /** How often the writers of the tracing databases have changed. */
  writerEpochs: WriterEpochs;
  keys: {
    /** The secret is returned this once and stored only as a hash. */
    create(request: NewApiKey): Promise<{ key: ApiKey; secret: string }>;
    /** The caller of a secret; undefined for an unknown or revoked one. */
    verify(secret: string): Promise<Caller | undefined>;
    /** The same with the reason. One that another process has revoked may be accepted for a second. */
    check(secret: string): Promise<KeyCheck>;
    /** The same for the id of a key, `owner` for the owner key. */
    checkId(id: string): Promise<KeyCheck>;
    /** Those of one entity, or all, without the owner key. */
    list(entity?: string): Promise<ApiKey[]>;
    /** Undefined for the owner key, too. */
    get(id: string): Promise<ApiKey | undefined>;
    /** The key of a caller as it may be shown. */
    describe(caller: Caller): Promise<{ prefix: string; name: string }>;
    rename(id: string, name: string): Promise<ApiKey>;
    revoke(id: string): Promise<ApiKey>;
  };
  close(): Promise<void>;
}

export interface ControlPlaneOptions {
  /** `file:` URL of a SQLite database, made when it is missing, or `postgres:` URL of a database that is there. */
  url: string;
  /** The key with access to everything. It is compared by hash and never stored. */
  owner?: { secret: string; entity: string; user_name?: string };
  /** Jobs of one key that may wait; default: any number. */
  waitingJobsPerKey?: number;
  /** Microseconds since 1970; for tests. */
  now?: () => bigint;
  /** Milliseconds of a clock that nobody sets; for tests. */
  monotonic?: () => number;
}

/**
 * Opens the control plane, migrated to this version.
 * @example const plane = await openControlPlane({ url: "file:///var/lib/heddle/control.db" });
 */
export async function openControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const { now = microseconds } = options;
  const steady = options.now ?? steadyClock();
  const database = openDatabase(options.url);
  try {
    await migrate(
      database,
      [
        foundation,
        leases,
        annotationQueues,
        jobs,
        trainingModels,
        trainingJobs,
        artifacts,
        trackingRuns,
        jobTurns,
        sessions,
        projectDeletions,
        trainingReads,
        trainingRollouts,
        webhooks,
        repeatableRequests,
        links,
        webhookThresholds,
        webhookPositions,
        leaseAddresses,
        jobBeats,
        boundedTexts,
        preferenceJobs,
        modelOrigins,
        projectShards,
      ],
      now,
      [writerEpochs],
    );
    const identity = await ensureIdentity(database, now);
    const users = openUsers(database, now);
    const owner = await ownerOf(users, options.owner);
    const shards = await openShards(database);
    const projects = openProjects(database, now, shards);
    const verifier = openVerifier(database, owner, now);
    return {
      identity,
      users,
      projects,
      projectDeletions: await openProjectDeletions(database, { now, onFinished: () => projects.forget() }),
      annotationQueues: openAnnotationQueues(database, now, steady),
      jobs: openJobs(database, {
        now,
        monotonic: options.monotonic,
        waitingPerKey: options.waitingJobsPerKey,
      }),
      trainingModels: openTrainingModels(database, now),
      trainingJobs: openTrainingJobs(database, now, options.waitingJobsPerKey),
      artifacts: openArtifacts(database, now),
      trackingRuns: openTrackingRuns(database, now),
      webhooks: openWebhooks(database, now, steady),
      sessions: openSessions(database, openKeyChecks(verifier, options.owner?.secret, "sessions"), now),
      exportLinks: openExportLinks(database, openKeyChecks(verifier, options.owner?.secret, "exports"), now),
      shares: openShares(database, openKeyChecks(verifier, options.owner?.secret, "shares"), now),
      urlSignatures: await openUrlSignatures(database, owner && { id: owner.caller.key_id, secret: owner.secret }),
      repeatableRequests: openRepeatableRequests(database, now),
      shards,
      leases: openLeases(database),
      writerEpochs: openWriterEpochs(database),
      keys: {
        create: async (request) => await createKey(database, users, request, now()),
        verify: async (secret) => (await verifier.check(secret)).caller,
        check: async (secret) => await verifier.check(secret),
        checkId: async (id) => await verifier.checkId(id),
        list: async (entity) => await listKeys(database, entity),
        get: async (id) => (isStorable(id) ? await findKey(database, "k.id", id) : undefined),
        async describe(caller) {
          if (caller.owner) return { prefix: shownPrefix(options.owner?.secret ?? ""), name: "owner key" };
          const { prefix = "", name = "" } = (await findKey(database, "k.id", caller.key_id)) ?? {};
          return { prefix, name };
        },
        rename: async (id, name) => await renameKey(database, id, name),
        async revoke(id) {
          const key = await revokeKey(database, id, now());
          verifier.forget();
          return key;
        },
      },
      close: async () => await database.close(),
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}

async function ownerOf(
  users: Users,
  owner: ControlPlaneOptions["owner"],
): Promise<{ secret: string; caller: Caller } | undefined> {
  if (owner === undefined) return undefined;
  checkPathName(owner.entity, "entity");
  const user = await users.ensure(owner.user_name ?? "owner");
  const caller: Caller = {
    key_id: "owner",
    user_id: user.id,
    user_name: user.name,
    entity: owner.entity,
    role: "admin",
    owner: true,
  };
  return { secret: owner.secret, caller };
}

function microseconds(): bigint {
  return BigInt(Date.now()) * 1000n;
}
