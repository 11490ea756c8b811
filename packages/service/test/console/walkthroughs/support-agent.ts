import type { TestService } from "../../test-service.js";
import { createRl, eventsOf } from "../../training/jobs.js";
import { writeRun } from "../evaluations/write-run.js";
import type { Row } from "../evaluations/write-run.js";
import { writeCalls } from "../write-calls.js";
import type { NewCall } from "../write-calls.js";

export const supportAgent = "local/support-agent";
export const supportEvals = "local/support-evals";

const topics = [
  "Why is my order late? It was promised for the 24th.",
  "Can I change the address of an order that has left?",
  "Where is the invoice of my last order?",
  "Is the blue one in stock again?",
];

interface Turn {
  question: string;
  answer: string;
  thread: string;
  tokens?: number;
  ms?: number;
  /** Which of its tools failed. */
  failed?: string;
}

/** What an agent did for a question: searched, asked a model, called a tool. */
function turnCalls(
  id: string,
  at: number,
  { question, answer, thread, tokens = 900, ms = 4000, failed }: Turn,
): NewCall[] {
  const of = { trace: `trace-${id}`, thread, turn: id };
  const child = (name: string, kind: string, from: number, to: number, rest: Partial<NewCall>): NewCall => ({
    ...of,
    id: `${id}-${name}`,
    name,
    parent: id,
    at: at + from,
    ms: to - from,
    attributes: `{"weave":{"kind":"${kind}"}}`,
    ...rest,
  });
  const messages = [
    { role: "system", content: "You help with orders. Be brief." },
    { role: "user", content: question },
  ];
  const usage = { requests: 1, prompt_tokens: tokens, completion_tokens: 96, total_tokens: tokens + 96 };
  const exception = `TimeoutError: no response within ${ms - 1200} ms`;
  const tool = (name: string): NewCall =>
    child(name, "tool", 1000, ms - 200, {
      inputs: '{"id":"8841"}',
      ...(name === failed ? { exception } : { output: '{"state":"sent"}' }),
    });
  return [
    {
      ...of,
      id,
      name: "agent.answer",
      at,
      ms,
      attributes: '{"weave":{"kind":"agent"},"deployment":"eu-1"}',
      inputs: JSON.stringify({ question }),
      ...(failed === undefined ? { output: JSON.stringify({ answer }) } : { exception: `ToolError: ${failed} failed` }),
    },
    child("retrieve", "retrieval", 40, 340, { inputs: '{"limit":4}', output: '["terms","shipping"]' }),
    child("chat", "model", 360, 980, {
      inputs: JSON.stringify({ model: "gpt-4o-mini", messages, temperature: 0, max_completion_tokens: 8 }),
      output: JSON.stringify({ choices: [{ message: { role: "assistant", content: answer } }] }),
      summary: JSON.stringify({ usage: { "gpt-4o-mini": usage } }),
    }),
    tool("orders.get"),
    tool("parcels.track"),
  ];
}

/** A project in which everything is to be found that the guide leads to. */
export async function fillSupportAgent(service: TestService): Promise<void> {
  await service.tracing().costCreate({
    project_id: supportAgent,
    costs: {
      "gpt-4o-mini": {
        prompt_token_cost: 1.5e-7,
        completion_token_cost: 6e-7,
        effective_date: "2020-01-01T00:00:00Z",
      },
    },
  });
  const minute = 60_000;
  const answer = "It left the warehouse on 24 November and arrives tomorrow.";
  const others = Array.from({ length: 60 }, (_, index) => {
    const question = index % 9 === 0 ? "Is a gift card refunded, too?" : (topics[index % topics.length] ?? "");
    const ms = 3000 + ((index * 7919) % 2600);
    const failed = index === 41 ? "parcels.track" : index % 13 === 5 ? "orders.get" : undefined;
    return turnCalls(`o${index}`, index * minute, {
      question,
      answer,
      thread: `customer-${index % 12}`,
      ms: index === 41 ? 12_700 : ms,
      ...(failed !== undefined && { failed }),
    });
  });
  const long = [
    "Where is my order?",
    "Since when is it on its way?",
    "Why did it take a week?",
    "Can I have it sent back?",
  ];
  const costly = long.map((question, index) =>
    turnCalls(`d${index}`, (20 + index) * minute, {
      question,
      answer,
      thread: "customer-8841",
      tokens: 48_000 * (index + 1),
    }),
  );
  const since = -70 * minute;
  await writeCalls(service, supportAgent, [...others, ...costly].flat(), { since });
  const ada = await service.key({ user_name: "ada", entity: "local", role: "write" });
  const cards = Array.from({ length: 20 }, (_, index) =>
    turnCalls(`g${index}`, index * minute, {
      question: `I paid order ${8841 + index} with a gift card. How is that refunded?`,
      answer: "To the gift card, within three days.",
      thread: `ada-${index}`,
    }),
  );
  await writeCalls(service, supportAgent, cards.flat(), { since: since + 30_000, key: ada });
}

/** A queue that asks whether an answer is right and how bad it is otherwise. */
export async function makeQueue(service: TestService): Promise<void> {
  const tracing = service.tracing();
  const fields = [
    { name: "right", title: "Is it right?", schema: { type: "string", enum: ["yes", "no", "partly"] } },
    { name: "severity", title: "How bad is it otherwise?", schema: { type: "integer", minimum: 1, maximum: 3 } },
    { name: "comment", title: "Comment", schema: { type: "string" } },
  ];
  const refs: string[] = [];
  for (const { name, title, schema } of fields) {
    const { digest } = await tracing.objCreate({
      obj: {
        project_id: supportAgent,
        object_id: name,
        builtin_object_class: "AnnotationSpec",
        val: { name: title, field_schema: schema },
      },
    });
    refs.push(`weave:///${supportAgent}/object/${name}:${digest}`);
  }
  await tracing.annotationQueueCreate({
    project_id: supportAgent,
    name: "Refunds of gift cards",
    description: "Right is what a customer would call right: where the money goes, and when it is there.",
    scorer_refs: refs,
  });
}

/** Two runs over the same thirty examples, of which one got worse. */
export async function writeRuns(service: TestService): Promise<void> {
  const rows = Array.from({ length: 30 }, (_, n): Row => {
    const expected = `Order ${8800 + n} arrives in ${n + 2} days.`;
    const correct = n % 8 !== 3;
    return {
      inputs: { question: `When does order ${8800 + n} arrive?`, expected },
      output: correct ? expected : "I cannot say.",
      scores: { judge: { correct, reason: correct ? "The same number of days." : "It gives no date." } },
    };
  });
  await writeRun(service, supportEvals, { model: "support-v3", rows });
  await writeRun(service, supportEvals, {
    model: "support-v4",
    rows: rows.map((row, n): Row => {
      if (n === 17)
        return {
          ...row,
          output: "Order 8817 arrives in 3 weeks.",
          scores: { judge: { correct: false, reason: "3 weeks are 21 days; 19 days were expected." } },
        };
      return n === 3 || n === 11
        ? {
            ...row,
            output: row.inputs["expected"],
            scores: { judge: { correct: true, reason: "The same number of days." } },
          }
        : row;
    }),
  });
}

/** A model that two jobs have trained by rewards, on answers that were sampled from it. */
export async function trainTutor(service: TestService): Promise<void> {
  const client = service.training();
  const model = await client.createModel({
    entity: "local",
    project: "support-agent",
    name: "tutor",
    base_model: "heddle/starter",
  });
  const groups = [];
  for (const content of ["Say the word loom.", "Say the word thread."]) {
    const question = { role: "user" as const, content };
    const trajectories = [];
    for (let seed = 0; seed < 4; seed++) {
      const { choices } = await client.createChatCompletion({
        model: model.inference_name,
        messages: [question],
        max_completion_tokens: 12,
        temperature: 1,
        seed,
        logprobs: true,
        store: false,
      });
      trajectories.push({
        messages_and_choices: [question, choices[0]],
        tools: null,
        additional_histories: [],
        reward: [0.25, 1, 0, 0.5][seed],
        metrics: {},
        metadata: {},
        logs: [],
      });
    }
    groups.push({ trajectories });
  }
  for (const rate of [0.0002, 0.0001]) {
    const job = await createRl(client, {
      model_id: model.id,
      trajectory_groups: groups,
      experimental_config: { learning_rate: rate },
    });
    await eventsOf(service, job.id);
  }
}
