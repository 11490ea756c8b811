import type { Agent } from "node:http";
import { newId } from "@heddle/trace-model";
import { attackedProject } from "./attacks/attack.js";
import type { Target } from "./attacks/attack.js";
import { eachOf, send } from "./load.js";
import { completeRequests } from "./payloads.js";
import type { ServiceProcess } from "./service-process.js";

/** The model servers of others that the evaluations of the neighbour and of the attacker use. */
export const neighbourProviders = (neighbours: string, attackers = neighbours) => ({
  bench: { baseUrl: neighbours, allowPrivate: true, kinds: ["chat-completions"], models: ["*"] },
  loud: { baseUrl: attackers, allowPrivate: true, kinds: ["chat-completions"], models: ["*"] },
});

type Client = Pick<ServiceProcess, "url" | "key">;

async function ask<T>(
  { url, key }: Client,
  path: string,
  body: object | string,
  type = "application/json",
): Promise<T> {
  const headers = { authorization: `Bearer ${key}`, "content-type": type };
  const sent = typeof body === "string" ? body : JSON.stringify(body);
  const response = await fetch(`${url}${path}`, { method: "POST", headers, body: sent });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
  return JSON.parse(text) as T;
}

async function object(
  client: Client,
  projectId: string,
  objectId: string,
  val: object,
  builtin?: string,
): Promise<string> {
  const obj = { project_id: projectId, object_id: objectId, val, ...(builtin && { builtin_object_class: builtin }) };
  const { digest } = await ask<{ digest: string }>(client, "/obj/create", { obj });
  return `weave:///${projectId}/object/${objectId}:${digest}`;
}

async function table(client: Client, projectId: string, rows: object[]): Promise<string> {
  return (await ask<{ digest: string }>(client, "/table/create", { table: { project_id: projectId, rows } })).digest;
}

/** Stores an evaluation of so many rows of a model, and returns the request that runs it. */
export async function storeEvaluation(
  client: Client,
  projectId: string,
  { rows, model, template, scorers }: { rows: number; model: string; template: string; scorers: [string, object][] },
): Promise<{ evaluation_ref: string; model_ref: string }> {
  const classOf = (name: string) => ({ _type: name, _class_name: name, _bases: ["Object", "BaseModel"] });
  const digest = await table(
    client,
    projectId,
    Array.from({ length: rows }, (_, n) => ({ prompt: `question ${n}`, expected: "loom" })),
  );
  const dataset = await object(client, projectId, "rows", {
    ...classOf("Dataset"),
    rows: `weave:///${projectId}/table/${digest}`,
  });
  const refs: string[] = [];
  for (const [name, val] of scorers) refs.push(await object(client, projectId, name, val, name));
  const evaluation = { ...classOf("Evaluation"), dataset, scorers: refs, trials: 1 };
  const params = { messages_template: [{ role: "user", content: template }] };
  return {
    evaluation_ref: await object(client, projectId, "evaluation", evaluation),
    model_ref: await object(
      client,
      projectId,
      "model",
      { llm_model_id: model, default_params: params },
      "LLMStructuredCompletionModel",
    ),
  };
}

/** So many calls, for reads that have something to read. */
export async function storeCalls(
  service: ServiceProcess,
  agent: Agent,
  projectId: string,
  batches = 50,
): Promise<void> {
  await eachOf(completeRequests(projectId, batches, 100), 2, (ready) => send(service, agent, ready));
}

/** Stores the data of the attacker: large values, a model to be trained, an artifact with many files, slow evaluations. */
export async function prepareAttacks(attacker: Client): Promise<Target> {
  const [entity = "", project = ""] = attackedProject.split("/");
  const large = "x".repeat(6_000_000);
  const ref = await object(attacker, attackedProject, "large", { large });
  const rows = Array.from({ length: 4 }, (_, n) => ({ n, large }));
  const started = new Date().toISOString();
  const call = { project_id: attackedProject, trace_id: "t", op_name: "op", started_at: started, ended_at: started };
  const inputs = { model: ref, long: large.slice(0, 500_000) };
  const batch = Array.from({ length: 40 }, () => ({ ...call, id: newId(), attributes: {}, inputs, summary: {} }));
  await ask(attacker, `/v2/${attackedProject}/calls/complete`, { batch });
  const model = await ask<{ id: string }>(attacker, "/v1/preview/models", {
    entity,
    project,
    name: "agent",
    base_model: "random:tiny",
  });
  const { sha256 } = await ask<{ sha256: string }>(
    attacker,
    `/v1/artifact-contents/${attackedProject}`,
    "a file",
    "application/octet-stream",
  );
  const files = Array.from({ length: 1000 }, (_, n) => ({ path: `directory/file-${n}.txt`, sha256 }));
  await ask(attacker, `/v1/artifacts/${attackedProject}`, { name: "examples", type: "dataset", files });
  const query = `mutation ($config: JSONString) {
    upsertBucket(input: {name: "loud", modelName: "${project}", entityName: "${entity}", config: $config}) { bucket { id } } }`;
  const config = JSON.stringify({ large: large.slice(0, 500_000) });
  await ask(attacker, "/graphql", { query, variables: { config } });
  return {
    url: attacker.url,
    key: attacker.key,
    ref,
    table: await table(attacker, attackedProject, rows),
    modelId: model.id,
    evaluation: await storeEvaluation(attacker, attackedProject, {
      rows: 2000,
      model: "loud/slow",
      template: `{prompt} ${"word ".repeat(100_000)}`,
      scorers: [
        ["StringDistanceScorer", {}],
        ["RegexScorer", { pattern: "(a+)+$" }],
      ],
    }),
  };
}
