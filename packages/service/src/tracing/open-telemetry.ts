import { keyLocks, mainThread } from "@heddle/concurrency";
import type { HeddleError } from "@heddle/errors";
import { reply } from "@heddle/server-stub";
import type { TracingHandlers } from "@heddle/server-stub/tracing";
import {
  decodeTraces,
  encodeTracesResponse,
  projectOf,
  runStepsWithPauses,
  scanTraces,
  spansToCalls,
} from "@heddle/trace-model";
import type { CallPart, RejectedSpan, ScannedTraces, SpanCall } from "@heddle/trace-model";
import type { PreparedWrite } from "@heddle/trace-store";
import { ItemAccess } from "../access/item-access.js";
import { currentScope } from "../limits/request-scope.js";
import { SenderShapes } from "../otlp/sender-shapes.js";
import type { Caller, Services } from "../services.js";
import { PlaceholderOps } from "../ingest/placeholder-ops.js";

const giveWay = async () => await mainThread.giveWay();

type CompleteCall = Extract<CallPart, { part: "complete" }>;

export function openTelemetryHandlers(services: Services): TracingHandlers<Caller>["openTelemetry"] {
  const { config } = services;
  const exportLimits = { maxSpans: config.limits.maxExportSpans, setting: "HEDDLE_OTLP_MAX_SPANS" };
  const ops = new PlaceholderOps(services, "This op was recorded through OpenTelemetry; its source is not known.");
  const senders = new SenderShapes();
  const lockedByKey = keyLocks();

  /** The calls that the spans are, as the store keeps them; nothing else of the export is referenced from here on. */
  async function prepare(traces: ScannedTraces, fallback: string | undefined, caller: Caller): Promise<PreparedExport> {
    const decoded = await runStepsWithPauses(decodeTraces(traces), giveWay);
    await services.store.yieldToCommits();
    const { calls, rejected } = await runStepsWithPauses(
      spansToCalls(decoded, {
        project_id: fallback,
        sessionThreads: config.otlpSessionThreads,
        received_us: BigInt(Date.now()) * 1000n,
      }),
      giveWay,
    );
    const parts: CompleteCall[] = [];
    for (const [projectId, ofProject] of callsByProject(calls)) {
      const refs = await ops.refs(
        projectId,
        ofProject.map(({ opObjectId }) => opObjectId),
      );
      for (const { start, end, opObjectId } of ofProject) {
        start.op_name = refs.get(opObjectId) ?? start.op_name;
        start.wb_user_id = caller.user_id;
        parts.push({ part: "complete", start, end });
      }
    }
    const spans = parts.map(({ start: { project_id, id } }) => ({ project_id, id }));
    return { write: await services.store.prepareIngest(parts), spans, rejected };
  }

  /**
   * Prepares the large exports of a key one after another: of several that are decoded alternately none is finished before
   * all are, and what they were decoded into outlives many collections of garbage.
   */
  async function prepareInOrder(...[traces, fallback, caller]: Parameters<typeof prepare>): Promise<PreparedExport> {
    const work = async () => await prepare(traces, fallback, caller);
    return spansOfAll(traces.resources) > fewSpans ? await lockedByKey(caller.key_id, work) : await work();
  }

  return {
    async exportTrace({ body, headers }, caller) {
      await services.store.yieldToCommits();
      const scanned = scanTraces(body.bytes, body.mediaType, exportLimits, senders.of(caller.key_id));
      const access = new ItemAccess(services.control, caller);
      const fallback = projectInHeader(headers.project_id) ?? onlyProjectOf(caller);
      const { allowed, rejected, refusal } = withoutRefused(scanned, fallback, access);
      if (refusal !== undefined && allowed.resources.length === 0) throw refusal;
      await currentScope()?.hold(memoryOf(allowed, body.bytes));
      const { write, spans, rejected: unusable } = await prepareInOrder(allowed, fallback, caller);
      rejected.push(...unusable);
      if (spans.length === 0 && refusal !== undefined) throw refusal;

      const stored = new Set(spans);
      for (const { index, message } of await services.store.ingestPrepared(write)) {
        const span = spans[index];
        if (span === undefined) continue;
        stored.delete(span);
        rejected.push({ message: `span ${span.id}: ${message}` });
      }
      await access.record(Array.from(stored, ({ project_id }) => project_id));
      const response = encodeTracesResponse(rejected, body.mediaType);
      return reply(200, response.bytes, { "content-type": response.mediaType });
    },
  };
}

/** Exporters that do not decode `OTEL_EXPORTER_OTLP_HEADERS` send the slash as it may stand there: `acme%2Fdemo`. */
function projectInHeader(value: string | undefined): string | undefined {
  return value?.replace(/^([^/%]*)%2f/i, "$1/");
}

/** The project of a key that is limited to one. */
function onlyProjectOf({ entity, projects }: Caller): string | undefined {
  return projects?.length === 1 ? `${entity}/${projects[0]}` : undefined;
}

interface PreparedExport {
  write: PreparedWrite;
  /** By the index of their parts. */
  spans: Array<{ project_id: string; id: string }>;
  rejected: RejectedSpan[];
}

/** Exports of so many spans wait for no others: they are prepared in a few milliseconds. */
const fewSpans = 64;

/** Approximate bytes of what becomes of a span, and of a unit of work, until it is stored. */
const spanMemory = 2500;
const workMemory = 20;

function memoryOf({ resources, work }: ScannedTraces, bytes: Uint8Array): number {
  return 2 * bytes.length + spansOfAll(resources) * spanMemory + work() * workMemory;
}

function spansOfAll(resources: ScannedTraces["resources"]): number {
  return resources.reduce((sum, resource) => sum + spansOf(resource), 0);
}

function spansOf({ scopes }: ScannedTraces["resources"][number]): number {
  return scopes.reduce((sum, { spans }) => sum + spans.length, 0);
}

/** What the key may write of an export, before its spans are decoded, and why not the rest. */
function withoutRefused(scanned: ScannedTraces, fallback: string | undefined, access: ItemAccess) {
  const rejected: RejectedSpan[] = [];
  let refusal: HeddleError | undefined;
  const resources = scanned.resources.filter((resource) => {
    const projectId = projectOf(resource, fallback);
    const spans = spansOf(resource);
    const reason = projectId === undefined || spans === 0 ? undefined : access.refusal(projectId, spans);
    if (reason === undefined) return spans > 0;
    refusal ??= reason;
    const why = reason.code === "forbidden" ? `this key may not write to ${projectId}` : reason.message;
    rejected.push({ message: `${spans} span(s): ${why}`, spans });
    return false;
  });
  return { allowed: { ...scanned, resources }, rejected, refusal };
}

/** One export may carry resources of several projects. */
function callsByProject(calls: readonly SpanCall[]): Map<string, SpanCall[]> {
  const projects = new Map<string, SpanCall[]>();
  for (const call of calls) {
    const { project_id } = call.start;
    const ofProject = projects.get(project_id);
    if (ofProject === undefined) projects.set(project_id, [call]);
    else ofProject.push(call);
  }
  return projects;
}
