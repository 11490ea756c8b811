import { keyLocks, mainThread } from "@heddle/concurrency";
import type { HeddleError } from "@heddle/errors";
import { reply } from "@heddle/server-stub";
import type { TracingHandlers } from "@heddle/server-stub/tracing";
import { decodeTraces, encodeTracesResponse, runStepsWithPauses, scanTraces, spansToCalls } from "@heddle/trace-model";
import type { CallPart, RejectedSpan, ScannedTraces, SpanCall } from "@heddle/trace-model";
import type { PreparedWrite } from "@heddle/trace-store";
import { ItemAccess } from "../access/item-access.js";
import { currentScope } from "../limits/request-scope.js";
import { Computing } from "../computing/computing.js";
import { callsOfPieces, contentsOf, hasLargeSpan, isLargeJson } from "../computing/large-exports.js";
import type { ExportContents, SentExport } from "../computing/large-exports.js";
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

  const options = () => ({
    sessionThreads: config.otlpSessionThreads,
    received_us: BigInt(Date.now()) * 1000n,
  });

  /** The calls that the spans of an export are. What is read already is decoded here, anything else in a thread. */
  async function callsOf({ sent, scanned, allowed }: ReadExport): Promise<Calls> {
    if (scanned === undefined) {
      const request = { sent, allowed, options: options() };
      const { pieces, rejected } = await Computing.ofRequest().run("exportedCalls", request, { timeMs: largeExportMs });
      return { calls: await callsOfPieces(pieces), rejected };
    }
    const resources = allowed.flatMap((position) => scanned.resources[position] ?? []);
    const decoded = await runStepsWithPauses(decodeTraces({ ...scanned, resources }), giveWay);
    await services.store.yieldToCommits();
    return await runStepsWithPauses(spansToCalls(decoded, { project_id: sent.fallback, ...options() }), giveWay);
  }

  /** The calls as the store keeps them; nothing else of the export is referenced from here on. */
  async function prepare(read: ReadExport, caller: Caller): Promise<PreparedExport> {
    const { calls, rejected } = await callsOf(read);
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
  async function prepareInOrder(read: ReadExport, spans: number, caller: Caller): Promise<PreparedExport> {
    const work = async () => await prepare(read, caller);
    return spans > fewSpans ? await lockedByKey(caller.key_id, work) : await work();
  }

  /** Reads of an export what has to be known before its spans are decoded. */
  async function scan(sent: SentExport, caller: Caller) {
    const { bytes, mediaType, limits, fallback } = sent;
    if (!isLargeJson(bytes, mediaType)) {
      const scanned = scanTraces(bytes, mediaType, limits, senders.of(caller.key_id));
      const contents = contentsOf(scanned, fallback);
      return hasLargeSpan(scanned) ? { contents } : { contents, scanned };
    }
    return { contents: await Computing.ofRequest().run("scanExport", sent, { timeMs: largeExportMs }) };
  }

  return {
    async exportTrace({ body, headers }, caller) {
      await services.store.yieldToCommits();
      const fallback = projectInHeader(headers.project_id) ?? onlyProjectOf(caller);
      const sent = { ...body, limits: exportLimits, fallback };
      const { contents, scanned } = await scan(sent, caller);
      const access = new ItemAccess(services.control, caller);
      const { allowed, spans: wanted, rejected, refusal } = withoutRefused(contents, access);
      if (refusal !== undefined && allowed.length === 0) throw refusal;
      await currentScope()?.hold(memoryOf(contents.work, wanted, body.bytes));
      const read = { sent, scanned, allowed };
      const { write, spans, rejected: unusable } = await prepareInOrder(read, wanted, caller);
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

interface Calls {
  calls: SpanCall[];
  rejected: RejectedSpan[];
}

/** An export whose spans are to be decoded. */
interface ReadExport {
  sent: SentExport;
  /** Undefined where a thread is to read it. */
  scanned?: ScannedTraces | undefined;
  /** The positions of the resources that may be written. */
  allowed: readonly number[];
}

/** Far more than a thread takes for the largest export, on a machine that is busy. */
const largeExportMs = 60_000;

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

function memoryOf(work: number, spans: number, bytes: Uint8Array): number {
  return 2 * bytes.length + spans * spanMemory + work * workMemory;
}

/** What the key may write of an export, before its spans are decoded, and why not the rest. */
function withoutRefused({ resources }: ExportContents, access: ItemAccess) {
  const rejected: RejectedSpan[] = [];
  let refusal: HeddleError | undefined;
  const allowed: number[] = [];
  let allowedSpans = 0;
  for (const [position, { projectId, spans }] of resources.entries()) {
    if (spans === 0) continue;
    const reason = projectId === undefined ? undefined : access.refusal(projectId, spans);
    if (reason === undefined) {
      allowed.push(position);
      allowedSpans += spans;
      continue;
    }
    refusal ??= reason;
    const why = reason.code === "forbidden" ? `this key may not write to ${projectId}` : reason.message;
    rejected.push({ message: `${spans} span(s): ${why}`, spans });
  }
  return { allowed, spans: allowedSpans, rejected, refusal };
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
