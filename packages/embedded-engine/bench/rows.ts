/**
 * Tokens per second of the in-process sampler by number of rows, from a model with the shape of Qwen2.5-0.5B and random weights,
 * each row from a prompt of its own; in turn with transformers and llama.cpp, which `bench/peers/compare.sh` installs.
 *
 *   node --import tsx -C @heddle/source packages/embedded-engine/bench/rows.ts [--rows 1,8,32,64] [--rounds 3] [--layers 24] [--threads 2] [--prompt 16] [--tokens 48]
 *     [--inputs] [--python <python with transformers>] [--llama <entry of node-llama-cpp> --gguf <file>]
 */
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { spawn } from "node:child_process";
import { cpus, loadavg } from "node:os";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { createCpuSampler } from "../src/decode/cpu-sampler.js";
import type { WeightsMode } from "../src/decode/prepared-weights.js";
import { modelParameters, parameterCount } from "../src/model/parameters.js";
import { initialWeights } from "../src/weights/initial-weights.js";
import { halfBillion } from "./half-billion.js";
import { median } from "./median.js";
import { option } from "./option.js";

const rowCounts = (option("rows") ?? "1,8,32,64").split(",").map(Number);
const rounds = Number(option("rounds") ?? 3);
const [promptTokens, sampledTokens] = [Number(option("prompt") ?? 16), Number(option("tokens") ?? 48)];
const threads = Number(option("threads") ?? 2);

const config = halfBillion(Number(option("layers") ?? 24));

/** Tokens per second, and per second of the processor, which other load affects less. */
interface Speed {
  wall: number;
  cpu: number;
}

interface Peer {
  name: string;
  sample(rows: number, tokens: number, seed: number): Promise<Speed>;
  close(): Promise<void>;
}

async function heddle(name: string, mode?: WeightsMode): Promise<Peer> {
  const sampler = createCpuSampler({ memoryBytes: 2 ** 32, promptCacheBytes: 0, threads });
  const { vocabularySize } = config;
  const nothing = new Uint8Array();
  const tokenizer = { vocabularySize, tokenBytes: () => nothing, specialIds: new Set<number>(), eosIds: [] };
  await sampler.addModel("model", { config, weights: initialWeights(config, 1), tokenizer, mode });
  return {
    name,
    async sample(rows, maxTokens, seed) {
      const [began, cpu] = [performance.now(), process.cpuUsage()];
      const results = await Promise.all(
        Array.from({ length: rows }, (_, row) => {
          const prompt = Int32Array.from({ length: promptTokens }, (_, i) => (seed * 31 + row * 17 + i * 7) % 1000);
          return sampler.generate({
            weights: "model",
            prompt,
            n: 1,
            maxTokens,
            seed: seed * 100 + row,
          });
        }),
      );
      const tokens = results
        .flatMap(({ completions }) => completions)
        .reduce((sum, each) => sum + each.tokens.length, 0);
      const { user, system } = process.cpuUsage(cpu);
      return { wall: (tokens * 1000) / (performance.now() - began), cpu: (tokens * 1e6) / (user + system) };
    },
    close: () => sampler.close(),
  };
}

/** A process that is sent a line for each measurement and answers with one. */
async function peer(command: string, args: string[]): Promise<Peer> {
  const child: ChildProcessWithoutNullStreams = spawn(command, args, {
    env: { ...process.env, OMP_NUM_THREADS: String(threads) },
  });
  child.stderr.pipe(process.stderr);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const answer = async (): Promise<Record<string, unknown>> => {
    const { value, done } = await lines.next();
    if (done === true) throw new Error(`${command} has ended`);
    return JSON.parse(value) as Record<string, unknown>;
  };
  return {
    name: String((await answer())["versions"]),
    async sample(rows, maxTokens, seed) {
      child.stdin.write(`${rows} ${promptTokens} ${maxTokens} ${seed}\n`);
      const { tokens, seconds, cpuSeconds } = await answer();
      return { wall: Number(tokens) / Number(seconds), cpu: Number(tokens) / Number(cpuSeconds) };
    },
    async close() {
      child.stdin.end();
      await new Promise((resolve) => child.once("close", resolve));
    },
  };
}

const [python, llama, gguf] = [option("python"), option("llama"), option("gguf")];
const script = (name: string) => fileURLToPath(new URL(`peers/${name}`, import.meta.url));
const peers: Peer[] = [];
// One after the other, so that loading one does not slow down another.
peers.push(await heddle("Heddle"));
if (process.argv.includes("--inputs")) peers.push(await heddle("with the order of weights of training", "inputs"));
if (python !== undefined) peers.push(await peer(python, [script("transformers-peer.py"), JSON.stringify(config)]));
if (llama !== undefined && gguf !== undefined) {
  peers.push(await peer(process.execPath, [script("llama-cpp-peer.mjs"), llama, gguf]));
}
const millions = parameterCount(modelParameters(config)) / 1e6;
console.log(`${millions.toFixed(0)} M weights in 32 bit, ${threads} threads, ${rounds} rounds`);
console.log(`${cpus()[0]?.model ?? "unknown processor"}, Node ${process.version}`);
for (const rows of rowCounts) {
  const speeds = peers.map((): Speed[] => []);
  const load: number[] = [];
  for (const each of peers) await each.sample(rows, 2, 0);
  for (let round = 0; round < rounds; round++) {
    for (const [at, each] of peers.entries()) speeds[at]!.push(await each.sample(rows, sampledTokens, 1 + round));
    load.push(loadavg()[0] ?? 0);
  }
  // The ratio of a round is of measurements that follow each other.
  const ratio = (at: number, of: keyof Speed) =>
    median(speeds[0]!.map((own, round) => own[of] / speeds[at]![round]![of])).toFixed(2);
  const parts = peers.map(({ name }, at) => {
    const [wall, cpu] = (["wall", "cpu"] as const).map((of) =>
      median(speeds[at]!.map((speed) => speed[of])).toFixed(1),
    );
    const ratios = at === 0 ? "" : ` (Heddle ${ratio(at, "wall")} times, of CPU ${ratio(at, "cpu")} times)`;
    return `${name} ${wall} tokens/s, ${cpu} tokens/CPU-s${ratios}`;
  });
  console.log(`${String(rows).padStart(3)} rows: ${parts.join("; ")}; load ${median(load).toFixed(1)}`);
}
for (const each of peers) await each.close();
