import { randomUUID } from "node:crypto";
import { withValueAt } from "./expressions.js";
import type { PlanOperation } from "./plan.js";
import type { RequestParts } from "./requests.js";
import type { Tenant } from "./tenant.js";
import type { Fixture } from "./fixture.js";

// What examples name and no example makes.

/** Sends requests of operations to the server that is filled. */
export interface Sender {
  operation(id: string): PlanOperation;
  send(operation: PlanOperation, parts: RequestParts): Promise<{ status: number; text: string }>;
}

/** Stores objects that the evaluation service can run, under the names that its examples have for them. */
export async function storeRunnable(sender: Sender, tenant: Tenant): Promise<void> {
  const { projectId } = tenant;
  const named = (operationId: string, member: string) => {
    const text = JSON.stringify(sender.operation(operationId).body?.examples[0]?.value);
    const ref = new RegExp(`"${member}":\\[?"weave:///[^/]+/[^/]+/object/([^:"]+):(\\w+)"`).exec(text);
    return { name: tenant.renamed(ref?.[1] ?? ""), digest: ref?.[2] ?? "" };
  };
  const create = async (name: string, val: unknown, builtin?: string) =>
    digestOf(sender, "objCreate", {
      obj: { project_id: projectId, object_id: name, val, builtin_object_class: builtin },
    });
  const store = async (operationId: string, member: string, val: unknown, builtin?: string) => {
    const { name, digest } = named(operationId, member);
    const made = await create(name, val, builtin);
    if (made !== undefined) tenant.learnDigest(digest, made);
    return `weave:///${projectId}/object/${name}:${made ?? digest}`;
  };
  const classOf = (name: string) => ({ _type: name, _class_name: name, _bases: ["Object", "BaseModel"] });

  const table = await digestOf(sender, "tableCreate", { table: { project_id: projectId, rows: [] } });
  const rows = { ...classOf("Dataset"), rows: `weave:///${projectId}/table/${table}` };
  const dataset = await create("no-rows", rows);
  const scorer = await store("callsScore", "scorer_refs", { values: ["warp"] }, "ContainsScorer");
  const datasetRef = `weave:///${projectId}/object/no-rows:${dataset}`;
  const evaluation = { ...classOf("Evaluation"), dataset: datasetRef, scorers: [scorer], trials: 1 };
  await store("evaluateModel", "evaluation_ref", evaluation);
  const params = { messages_template: [{ role: "user", content: "{question}" }] };
  const model = { llm_model_id: "upstream/loom-8b", default_params: params };
  await store("evaluateModel", "model_ref", model, "LLMStructuredCompletionModel");
}

/** Stores what the examples of training on calls select: a rated chat completion. */
export async function storeRatedCall(sender: Sender, projectId: string): Promise<void> {
  const id = randomUUID();
  const call = { project_id: projectId, id };
  const choice = {
    finish_reason: "stop",
    index: 0,
    message: { role: "assistant", content: "yes" },
    logprobs: { content: [{ token: "token_id:121", logprob: -1.2 }] },
  };
  const inputs = { messages: [{ role: "user", content: "Is the shop open?" }] };
  const start = { ...call, op_name: "heddle.chat.completions", trace_id: id, started_at: "2026-04-10T09:00:00Z" };
  await send(sender, "callStart", { start: { ...start, attributes: {}, inputs } });
  const end = { ...call, ended_at: "2026-04-10T09:00:01Z", summary: {}, output: { choices: [choice] } };
  await send(sender, "callEnd", { end });
  const weaveRef = `weave:///${projectId}/call/${id}`;
  const rating = { project_id: projectId, weave_ref: weaveRef, feedback_type: "quality", payload: { value: 1 } };
  await send(sender, "feedbackCreate", rating);
}

/** Lists of which the examples make one item, and how a further one is made. */
const variants: readonly { operationId: string; pointer: string; values: readonly unknown[] }[] = [
  ...["opCreate", "datasetCreate", "scorerCreate", "modelCreate", "evaluationCreate", "annotationQueueCreate"].map(
    (operationId) => ({ operationId, pointer: "/name", values: ["second", "third"] }),
  ),
  { operationId: "createModel", pointer: "/name", values: ["second", "third"] },
  { operationId: "commitArtifact", pointer: "/name", values: ["second", "third"] },
  { operationId: "commitArtifact", pointer: "/files/0/path", values: ["a.jsonl", "b.jsonl"] },
  { operationId: "predictionCreate", pointer: "/inputs/question", values: ["3+3?", "4+4?"] },
];
/** Groups that list calls, or what is about calls. */
const aboutCalls = ["calls", "threads", "annotationQueues"];

/** Stores further items of lists in the project that most checks use, so that they have several pages. */
export async function storeMore(fixture: Fixture, groups: ReadonlySet<string>): Promise<void> {
  for (const { operationId, pointer, values } of variants) {
    const operation = fixture.operation(operationId);
    if (!groups.has(operation.group)) continue;
    const { params = {}, body } = fixture.own.request(operation);
    for (const value of values) await fixture.send(operation, { params, body: withValueAt(body, pointer, value) });
  }
  if (!aboutCalls.some((group) => groups.has(group))) return;
  const [ids, queues] = [[randomUUID(), randomUUID()], fixture.operation("annotationQueueAddCalls")];
  for (const id of ids) {
    const call = { project_id: fixture.own.projectId, id, trace_id: id, thread_id: id, turn_id: id };
    const start = { ...call, op_name: "turn", started_at: "2026-04-10T09:00:00Z", attributes: {}, inputs: {} };
    await send(fixture, "callStart", { start });
    // A thread is listed once a turn has ended.
    const end = { project_id: fixture.own.projectId, id, ended_at: "2026-04-10T09:00:01Z", summary: {} };
    await send(fixture, "callEnd", { end });
  }
  const { params = {}, body } = fixture.own.request(queues);
  await fixture.send(queues, { params, body: withValueAt(body, "/call_ids", ids) });
}

async function digestOf(sender: Sender, operationId: string, body: unknown): Promise<string | undefined> {
  const { status, text } = await send(sender, operationId, body);
  if (status !== sender.operation(operationId).success) return undefined;
  return (JSON.parse(text) as { digest?: string }).digest;
}

function send(sender: Sender, operationId: string, body: unknown) {
  return sender.send(sender.operation(operationId), { body });
}
