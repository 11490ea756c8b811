/**
 * Every bench of the repository, one after another.
 *
 *   pnpm bench [--calls 1000000] [--rounds 7] [--size 1] [--only <part of a name>]
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describeMachine } from "./results.js";

const packages = fileURLToPath(new URL("../../", import.meta.url));
/** The option and its value, as they are passed on; nothing when it was not given. */
const given = (name: string): string[] => {
  const at = process.argv.indexOf(name);
  return at === -1 ? [] : process.argv.slice(at, at + 2);
};
const calls = given("--calls");
const [, only] = given("--only");

interface Bench {
  file: string;
  subject: string;
  args?: string[];
  /** Imports the built packages: the TypeScript loader in the process slows down every inner function. */
  built?: boolean;
}

const benches: Bench[] = [
  {
    file: "server-stub/bench/requests.ts",
    subject: "a request, compared with bare node:http and a framework",
    built: true,
  },
  { file: "server-stub/bench/raw-json.ts", subject: "from bytes to validated calls, compared with JSON.parse" },
  { file: "trace-model/bench/bench.ts", subject: "what happens to each call" },
  {
    file: "service/bench/ingest.ts",
    subject: "ingest over HTTP, compared with the bare insert",
    args: [...given("--rounds"), ...given("--size")],
  },
  {
    file: "service/bench/workers.ts",
    subject: "ingest of one process and of two, with the CPU of each span",
    args: [...given("--rounds"), ...given("--size")],
  },
  { file: "trace-store/bench/ingest.ts", subject: "ingest of the store without the service" },
  {
    file: "trace-store/bench/reads.ts",
    subject: "reads, compared with the same statements and the bare table",
    args: calls,
  },
  {
    file: "service/bench/aggregates.ts",
    subject: "outlines of traces, aggregates and fields, compared with what gave the same before",
    args: [...calls, ...given("--rounds")],
  },
  { file: "trace-store/bench/eval-results.ts", subject: "results of evaluations, compared with bare SQL" },
  { file: "control-plane/bench/annotation-queues.ts", subject: "annotation queues, compared with bare SQL" },
  { file: "embedded-clickhouse/bench/stream-memory.ts", subject: "memory of the engine host while it streams" },
  { file: "embedded-engine/bench/train.ts", subject: "training steps, compared with the matmul peak of this machine" },
  { file: "embedded-engine/bench/steps.ts", subject: "whole SFT and RL steps, sampling and update" },
  { file: "embedded-engine/bench/sample.ts", subject: "sampling with 1, 8 and 64 rows" },
  { file: "service/bench/downloads.ts", subject: "exports, compressed streams and the list of projects", args: calls },
  { file: "service/bench/training-reads.ts", subject: "histories, rollouts and lists of training jobs" },
  {
    file: "service/bench/prompts.ts",
    subject: "prompts that are sent again, and conversations, with and without kept prompts",
  },
  { file: "service/bench/memory.ts", subject: "memory of service and engine host", args: calls },
];

console.log(describeMachine());
let failed = 0;
for (const { file, subject, args = [], built = false } of benches) {
  if (only !== undefined && !file.includes(only)) continue;
  console.log(`\n## ${file}: ${subject}\n`);
  const source = built ? [] : ["-C", "@heddle/source"];
  const node = ["--import", "tsx", ...source, `${packages}${file}`, ...args];
  if (spawnSync(process.execPath, node, { stdio: "inherit" }).status !== 0) failed++;
}
console.log(`\n${describeMachine()}`);
if (failed > 0) throw new Error(`${failed} benches failed`);
