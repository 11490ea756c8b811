import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { createRl, eventsOf } from "./jobs.js";
import type { TrainingClient } from "./jobs.js";

const starter = fileURLToPath(new URL("../../../embedded-engine/models/starter/", import.meta.url));
const turn = (role: string, content: string) => `"<|im_start|>" + ${role} + "\\n" + ${content} + "<|im_end|>\\n"`;
const asks = '{%- if add_generation_prompt -%}{{- "<|im_start|>assistant\\n" -}}{%- endif -%}';
const asksToThink = '{%- if add_generation_prompt -%}{{- "<|im_start|>assistant\\n<think>\\n" -}}{%- endif -%}';
const toolList = "{%- for tool in tools or [] -%}{{- tool | tojson -}}{%- endfor -%}";
const content = 'message.content or ""';

/** What each template writes of an earlier turn is not what was sampled. */
const templates = {
  "reasoning is opened by the prompt and dropped from every earlier turn": `${toolList}
{%- for message in messages -%}{{- ${turn("message.role", content)} -}}{%- endfor -%}${asksToThink}`,
  "reasoning is kept after the last question only": `${toolList}
{%- set ns = namespace(last=-1) -%}
{%- for message in messages -%}{%- if message.role == "user" -%}{%- set ns.last = loop.index0 -%}{%- endif -%}{%- endfor -%}
{%- for message in messages -%}
{%- set thoughts = message.reasoning_content if message.reasoning_content and loop.index0 > ns.last else "" -%}
{{- ${turn("message.role", `("<think>\\n" + thoughts + "\\n</think>\\n" if thoughts else "") + (${content})`)} -}}
{%- endfor -%}${asksToThink}`,
  "earlier answers are trimmed": `${toolList}
{%- for message in messages -%}{{- ${turn("message.role", `(${content})[:6] | trim`)} -}}{%- endfor -%}${asks}`,
  "reasoning is in a channel, as that of gpt-oss": `${toolList}
{%- for message in messages -%}
{{- "<|start|>" + message.role -}}
{%- if message.role == "assistant" -%}{{- "<|channel|>final" -}}{%- endif -%}
{{- "<|message|>" + (${content}) + "<|end|>" -}}
{%- endfor -%}{%- if add_generation_prompt -%}{{- "<|start|>assistant" -}}{%- endif -%}`,
};

const directory = mkdtempSync(join(tmpdir(), "heddle-agent-turns-"));
let service: TestService;
let client: TrainingClient;
beforeAll(async () => {
  for (const [index, template] of Object.values(templates).entries()) {
    const model = join(directory, `agent${index}`);
    cpSync(starter, model, { recursive: true });
    const settings: object = JSON.parse(readFileSync(join(model, "tokenizer_config.json"), "utf8"));
    writeFileSync(join(model, "tokenizer_config.json"), JSON.stringify({ ...settings, chat_template: template }));
  }
  service = await openTestService({ HEDDLE_MODELS_DIR: directory });
  client = service.training();
});
afterAll(async () => {
  expect(service.unexpected).toEqual([]);
  await service.close();
  rmSync(directory, { recursive: true });
});

const tools = [{ type: "function" as const, function: { name: "weave", parameters: { type: "object" } } }];
type Message = { role: string; content: string } & Record<string, unknown>;

interface Conversation {
  turns: number;
  /** Most tokens of an answer. */
  length?: number;
  /** What an application does to the history before it asks again. */
  edit?: (messages: Message[]) => Message[];
}

/** Asks as an agent does: each answer goes into the messages of the next request, and as it is into the trajectory. */
async function converse(
  model: string,
  seed: number,
  { turns, length = 12, edit = (messages) => messages }: Conversation,
) {
  let messages: Message[] = [{ role: "user", content: "Say the word loom." }];
  const elements: object[] = [...messages];
  for (let index = 0; index < turns; index++) {
    const { choices } = await client.createChatCompletion({
      model,
      messages: messages,
      tools,
      seed: seed * 100 + index,
      max_completion_tokens: length,
      stream: false,
    });
    const [choice] = choices;
    elements.push(choice!);
    const next: Message =
      index % 2 === 0
        ? { role: "tool", content: `${index} threads`, tool_call_id: "a" }
        : { role: "user", content: `And ${index}?` };
    elements.push(next);
    messages = edit([...messages, { ...choice!.message, content: choice!.message.content ?? "" }, next]);
  }
  return { messages_and_choices: elements, tools, reward: seed % 2 };
}

/** The first step of a job that changes nothing: the weights are those that were sampled. */
async function firstStep(conversation: Conversation, index: number, change: (element: object) => object = (as) => as) {
  const projectId = newProject();
  const [entity = "", project = ""] = projectId.split("/");
  const baseModel = `dir:agent${index}`;
  const model = await client.createModel({
    entity,
    project,
    name: "agent",
    base_model: baseModel,
    return_existing: true,
  });
  const trajectories = await Promise.all(
    [1, 2, 3, 4].map(async (seed) => await converse(`${projectId}/agent`, seed, conversation)),
  );
  const job = await createRl(client, {
    model_id: model.id,
    trajectory_groups: [
      {
        trajectories: trajectories.map((trajectory) => ({
          ...trajectory,
          messages_and_choices: trajectory.messages_and_choices.map(change),
        })),
      },
    ],
    experimental_config: { learning_rate: 0 },
  });
  const events = await eventsOf(service, job.id);
  const step = events.find(({ type }) => type === "gradient_step")?.data as Record<string, number>;
  const { warnings } = await client.getTrainingJob({ training_job_id: job.id });
  return { step, ended: events.at(-1), warnings };
}

const conversations: Record<string, Conversation> = {
  "two turns": { turns: 2 },
  "five turns": { turns: 5 },
  "answers that were cut off": { turns: 3, length: 3 },
  "a history that the application shortens": { turns: 4, edit: (messages) => messages.slice(-3) },
  "a history that the application rewrites": {
    turns: 3,
    edit: (messages) => messages.map((message) => ({ ...message, content: message.content.toUpperCase() })),
  },
};

test.each(
  Object.keys(templates).flatMap((template, index) =>
    // What an application does to a history does not depend on channels.
    (index < 3 ? Object.keys(conversations) : ["five turns"]).map((conversation) => ({
      template,
      conversation,
      index,
    })),
  ),
)("$conversation are trained on the ratios they were sampled with where $template", async ({ conversation, index }) => {
  const { step, warnings } = await firstStep(conversations[conversation]!, index);
  expect(warnings).toEqual([]);
  expect(step["importance_ratio_std"]).toBeLessThan(1e-3);
  expect(Math.abs(step["importance_ratio_mean"]! - 1)).toBeLessThan(1e-3);
  expect(step["probs_corr"]).toBeGreaterThan(0.9999);
});

type Choice = { logprobs?: { content: { logprob: number }[] } };
const moved = (by: number) => (element: Choice) => ({
  ...element,
  ...(element.logprobs && {
    logprobs: { content: element.logprobs.content.map((entry) => ({ ...entry, logprob: entry.logprob - by })) },
  }),
});

test("a job warns of log-probabilities that differ from those of its weights, by name and number", async () => {
  const { step, ended, warnings } = await firstStep({ turns: 2 }, 0, moved(0.3));
  expect(step["logprob_difference"]).toBeCloseTo(0.3, 3);
  expect(warnings).toEqual([expect.stringMatching(/ differ by 0\.300 on average \(logprob_difference\)/)]);
  expect(ended?.type).toBe("training_ended");
});

test("a job whose log-probabilities have nothing to do with its weights fails and says why", async () => {
  const without = { prompt_token_ids: null };
  for (const change of [moved(1.5), (element: object) => ({ ...element, ...without })]) {
    const { ended } = await firstStep({ turns: 5 }, 0, change);
    expect(ended).toMatchObject({ type: "training_failed" });
    expect(JSON.stringify(ended)).toMatch(/differ by [1-9]\.\d* on average .*; at most 1 is accepted/);
  }
});

test("choices of earlier weights, or of unknown ones, may have any log-probabilities", async () => {
  for (const step of [7, null]) {
    const { ended, warnings } = await firstStep({ turns: 2 }, 0, (element) => ({
      ...moved(1.5)(element),
      checkpoint_step: step,
    }));
    expect([ended?.type, warnings]).toEqual(["training_ended", []]);
  }
});
