import { readContract, writes } from "./contract.js";
import type { Contract, Operation } from "./contract.js";
import { CheckFailure, CheckSkipped, NotImplemented } from "./exchange.js";
import type { Target } from "./exchange.js";
import { requestExcerpt, responseExcerpt } from "./excerpt.js";
import type { Case, Check } from "./checks/check.js";
import { accessCases } from "./checks/access.js";
import { bodyCases } from "./checks/bodies.js";
import { completionCases } from "./checks/completions.js";
import { exactReadCases } from "./checks/exact-reads.js";
import { exampleCases } from "./checks/examples.js";
import { freeJsonCases } from "./checks/free-json.js";
import { isolationCases } from "./checks/isolation.js";
import { methodCases } from "./checks/methods.js";
import { otlpCases } from "./checks/otlp.js";
import { pagingCases } from "./checks/paging.js";
import { retryCases } from "./checks/retries.js";
import { selectionCases } from "./checks/selections.js";
import { validationCases } from "./checks/validation.js";
import { prepare } from "./prepare.js";
import { summaryOf } from "./report.js";
import type { CheckReport, ConformanceReport, OperationReport } from "./report.js";
import { runStory } from "./run-story.js";
import { createFixture } from "./fixture.js";
import type { Fixture } from "./fixture.js";

export interface ConformanceOptions {
  /** Address of the server, without a path of an operation. */
  baseUrl: string;
  /** A key that may write to new projects of `entity`, and change their settings. */
  apiKey: string;
  /** A key that may not use projects of `entity`. Without it nothing is checked of such keys. */
  otherApiKey?: string | undefined;
  /** Entity that the projects of the run are of. */
  entity: string;
  /** Operations, groups and interfaces (`tracing`, `training`) that are judged; all if absent. */
  only?: readonly string[] | undefined;
  /** Sends the requests; by default the `fetch` of the platform. */
  fetch?: Target["fetch"];
  /** Milliseconds that one response may take. Default 30,000. */
  timeoutMs?: number;
  /** Called when an operation was judged. */
  onProgress?: (progress: Progress) => void;
}

export interface Progress {
  done: number;
  total: number;
  /** The latest. Absent while projects are filled. */
  operation?: OperationReport;
}

/** The checks of an operation, in their order. What changes data comes after what reads it. */
const checks: readonly Check[] = [
  validationCases,
  bodyCases,
  accessCases,
  methodCases,
  isolationCases,
  pagingCases,
  selectionCases,
  exactReadCases,
  completionCases,
  exampleCases,
  otlpCases,
  freeJsonCases,
  retryCases,
];

/** Operations that are judged at once, and refused requests of one operation that are sent at once. */
const concurrency = 4;

/** Thrown by `runConformance` for names that are not an operation, group or interface. */
export class UnknownOperation extends Error {
  override readonly name = "UnknownOperation";
}

/** Thrown by `runConformance` when the server does not respond, or not to this key. */
export class UnusableTarget extends Error {
  override readonly name = "UnusableTarget";
}

/**
 * Judges a server by the spec: sends the examples, requests that do not fit, and the stories, in projects of its own, and
 * checks every response.
 */
export async function runConformance(options: ConformanceOptions): Promise<ConformanceReport> {
  const started = new Date();
  const contract = readContract();
  const judged = selected(contract, options.only);
  const fetch = options.fetch ?? globalThis.fetch;
  const baseUrl = options.baseUrl.replace(/(?<!\/)\/+$/, "");
  const target = { baseUrl, fetch, timeoutMs: options.timeoutMs ?? 30_000 };
  const { apiKey, otherApiKey, entity } = options;
  const fixture = createFixture({ target, contract, apiKey, otherApiKey, entity });
  options.onProgress?.({ done: 0, total: judged.length });
  await probe(fixture, baseUrl, entity);
  await prepare(fixture, judged);
  const reports = new Map<string, OperationReport>();
  const judgeAll = async (waiting: Iterator<Operation>) => {
    for (let next = waiting.next(); next.done !== true; next = waiting.next()) {
      const report = await judge(next.value, fixture);
      reports.set(next.value.id, report);
      options.onProgress?.({ done: reports.size, total: judged.length, operation: report });
    }
  };
  // Reads first, some at once. What writes could change what others list, so it goes one by one.
  const reads = judged.filter((operation) => !writes(operation)).values();
  await Promise.all(Array.from({ length: concurrency }, () => judgeAll(reads)));
  await judgeAll(writesInOrder(judged).values());
  await judgeStories(fixture, reports);
  const operations = judged.flatMap(({ id }) => reports.get(id) ?? []);
  return {
    base_url: baseUrl,
    spec_versions: Object.fromEntries(contract.operations.map(({ plan }) => [plan.interface, plan.version])),
    started_at: started.toISOString(),
    duration_ms: Date.now() - started.getTime(),
    summary: summaryOf(operations),
    operations,
  };
}

/** Throws `UnusableTarget` where every check would fail for the same reason. */
async function probe(fixture: Fixture, baseUrl: string, entity: string): Promise<void> {
  const operation = fixture.contract.operations.find(
    (one) => writes(one) && !one.destructive && typeof one.access?.project === "object",
  );
  if (operation === undefined) return;
  // Names nothing that exists, so that nothing is changed.
  const response = await fixture.send(operation, fixture.missing.request(operation)).catch((error: unknown) => {
    throw new UnusableTarget(`${baseUrl}: ${error instanceof Error ? error.message : String(error)}`);
  });
  if (response.status === 401) throw new UnusableTarget(`${baseUrl} refuses the API key`);
  if (response.status === 403) throw new UnusableTarget(`the API key may not write to projects of "${entity}"`);
}

function selected({ operations }: Contract, only: readonly string[] = []): Operation[] {
  const isNamed = (name: string, { id, group, plan }: Operation) => [id, group, plan.interface].includes(name);
  const unknown = only.find((name) => !operations.some((operation) => isNamed(name, operation)));
  if (unknown !== undefined) throw new UnknownOperation(`"${unknown}" is not an operation, group or interface`);
  return operations.filter((operation) => only.length === 0 || only.some((name) => isNamed(name, operation)));
}

/** The documents list what holds other things before what it holds, so what deletes goes backwards, last. */
function writesInOrder(operations: readonly Operation[]): Operation[] {
  return [
    ...operations.filter((operation) => writes(operation) && !operation.destructive),
    ...operations.filter(({ destructive }) => destructive).toReversed(),
  ];
}

async function judge(operation: Operation, fixture: Fixture): Promise<OperationReport> {
  const { id, method, path, plan } = operation;
  const report = { operation: id, interface: plan.interface, method, path };
  if (fixture.unserved.has(id)) return { ...report, outcome: "not_implemented", checks: [] };
  const found: CheckReport[] = [];
  for (const check of checks) {
    const cases = check(operation, fixture);
    // Requests that are refused do not affect each other.
    const isRefused = check === validationCases || check === bodyCases || check === accessCases;
    const batch = isRefused ? concurrency : 1;
    for (let index = 0; index < cases.length; index += batch) {
      const outcomes = await Promise.all(cases.slice(index, index + batch).map(async (one) => runCase(one, id)));
      if (outcomes.includes(undefined)) return { ...report, outcome: "not_implemented", checks: [] };
      found.push(...outcomes.filter((outcome) => outcome !== undefined));
    }
  }
  return { ...report, outcome: outcomeOf(found), checks: found };
}

function outcomeOf(found: readonly CheckReport[]): "passed" | "failed" {
  return found.some(({ outcome }) => outcome === "failed") ? "failed" : "passed";
}

/** Undefined: the operation is not implemented. */
async function runCase({ name, run }: Case, operationId: string): Promise<CheckReport | undefined> {
  const started = performance.now();
  const duration = () => Math.round(performance.now() - started);
  try {
    await run();
    return { name, outcome: "passed", duration_ms: duration() };
  } catch (error) {
    if (error instanceof NotImplemented && error.message.startsWith(`${operationId} `)) return undefined;
    return { name, duration_ms: duration(), ...failureReport(error) };
  }
}

/** What is reported of an error. Throws those that are defects of this package. */
function failureReport(error: unknown): Omit<CheckReport, "name" | "duration_ms"> {
  if (error instanceof CheckSkipped || error instanceof NotImplemented) {
    return { outcome: "skipped", message: error.message };
  }
  if (!(error instanceof CheckFailure)) throw error;
  const { message, expected, exchange } = error;
  const excerpts = exchange && { request: requestExcerpt(exchange), response: responseExcerpt(exchange) };
  return { outcome: "failed", message, expected, ...excerpts };
}

/** Each step is a check of its operation. Stories of which no operation is judged are left out. */
async function judgeStories(fixture: Fixture, reports: Map<string, OperationReport>): Promise<void> {
  for (const story of fixture.contract.stories) {
    if (!story.steps.some(({ operationId }) => reports.has(operationId))) continue;
    const started = performance.now();
    const results = await runStory(story, fixture);
    for (const { operationId, name, failure } of results) {
      const report = reports.get(operationId);
      if (report === undefined || report.outcome === "not_implemented") continue;
      const outcome = failure === undefined ? { outcome: "passed" as const } : failureReport(failure);
      report.checks.push({ name, duration_ms: Math.round((performance.now() - started) / results.length), ...outcome });
      report.outcome = outcomeOf(report.checks);
    }
  }
}
