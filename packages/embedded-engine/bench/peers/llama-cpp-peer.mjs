/**
 * Samples with llama.cpp, by node-llama-cpp, on request of `rows.ts`: `node llama-cpp-peer.mjs <node-llama-cpp> <file.gguf>`.
 * The protocol is that of `transformers-peer.py`.
 */
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [library, file] = process.argv.slice(2);
const { getLlama, LlamaLogLevel } = await import(pathToFileURL(library).href);
const threads = Number(process.env["OMP_NUM_THREADS"] ?? 2);
const llama = await getLlama({ gpu: false, build: "never", maxThreads: threads, logLevel: LlamaLogLevel.error });
const model = await llama.loadModel({ modelPath: file });
console.log(JSON.stringify({ versions: `llama.cpp ${llama.llamaCppRelease.release}` }));

for await (const line of createInterface({ input: process.stdin })) {
  const [rows, prompt, sampled, seed] = line.split(" ").map(Number);
  const size = { contextSize: prompt + sampled + 8, batchSize: Math.max(512, rows * prompt) };
  const context = await model.createContext({ sequences: rows, threads, ...size });
  const sequences = Array.from({ length: rows }, () => context.getSequence());
  const [began, cpu] = [performance.now(), process.cpuUsage()];
  const counts = await Promise.all(
    sequences.map(async (sequence, row) => {
      const tokens = Array.from({ length: prompt }, (_, i) => (seed * 31 + row * 17 + i * 7) % 1000);
      let count = 0;
      const options = { temperature: 1, topK: 0, topP: 1, minP: 0, seed: seed * 100 + row, yieldEogToken: true };
      for await (const _ of sequence.evaluate(tokens, options)) if (++count === sampled) break;
      return count;
    }),
  );
  const seconds = (performance.now() - began) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  await context.dispose();
  const tokens = counts.reduce((sum, each) => sum + each, 0);
  console.log(JSON.stringify({ tokens, seconds, cpuSeconds: (user + system) / 1e6 }));
}
await llama.dispose();
