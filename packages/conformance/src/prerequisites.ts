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
    const createdDigest = await create(name, val, builtin);
    if (createdDigest !== undefined) tenant.learnDigest(digest, createdDigest);
    return `weave:///${projectId}/object/${name}:${createdDigest ?? digest}`;
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

const named = (operationId: string) => ({ operationId, changes: [{ "/name": "second" }, { "/name": "third" }] });
/** Lists of which the examples make one item, and how further ones differ from it. */
const variants: readonly { operationId: string; changes: readonly Readonly<Record<string, unknown>>[] }[] = [
  ...["opCreate", "datasetCreate", "scorerCreate", "modelCreate", "evaluationCreate", "annotationQueueCreate"].map(
    named,
  ),
  {
    operationId: "costCreate",
    changes: [{ "/costs": { "loom-8b": { prompt_token_cost: 1e-7, completion_token_cost: 4e-7 } } }],
  },
  named("createModel"),
  {
    operationId: "commitArtifact",
    changes: [
      { "/name": "second" },
      { "/name": "third", "/type": "report" },
      { "/files/0/path": "a.jsonl" },
      { "/files/0/path": "b.jsonl" },
    ],
  },
  { operationId: "predictionCreate", changes: [{ "/inputs/question": "3+3?" }, { "/inputs/question": "4+4?" }] },
];
/** Groups that list calls, or what is about calls. */
const aboutCalls = ["calls", "threads", "annotationQueues"];

/** Stores further items of lists in the project that most checks use, so that they have several pages. */
export async function storeMore(fixture: Fixture, groups: ReadonlySet<string>): Promise<void> {
  for (const { operationId, changes } of variants) {
    const operation = fixture.operation(operationId);
    if (!groups.has(operation.group)) continue;
    const { params = {}, body } = fixture.own.request(operation);
    for (const change of changes) {
      const changed = Object.entries(change).reduce((made, [at, value]) => withValueAt(made, at, value), body);
      await fixture.send(operation, { params, body: changed });
    }
  }
  if (!aboutCalls.some((group) => groups.has(group))) return;
  const [ids, queues] = [[randomUUID(), randomUUID()], fixture.operation("annotationQueueAddCalls")];
  for (const [index, id] of ids.entries()) {
    const startedAt = `2026-04-10T09:00:0${index}Z`;
    const call = { project_id: fixture.own.projectId, id, trace_id: id, thread_id: id, turn_id: id };
    const start = { ...call, op_name: "turn", started_at: startedAt, attributes: {}, inputs: {} };
    await send(fixture, "callStart", { start });
    // A thread is listed once a turn has ended.
    const end = { project_id: fixture.own.projectId, id, ended_at: "2026-04-10T09:00:09Z", summary: {} };
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
