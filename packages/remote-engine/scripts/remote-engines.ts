/**
 * Trains the starter model on a SkyRL server, samples the checkpoint on a vLLM server and compares every log-probability
 * with those of the embedded engine. Installs both servers from the package index into virtualenvs of its own; without
 * Python or the index it says so in one line and succeeds.
 *
 *   pnpm remote-engines [directory that keeps the virtualenvs]
 */
import { mkdtemp, mkdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { openEmbeddedEngine } from "@heddle/embedded-engine";
import { loraTargets } from "@heddle/training";
import type { TrainingEngine } from "@heddle/training";
import { openTinkerTrainers, openVllmSampler } from "../src/index.js";
import type { RemoteModel } from "../src/index.js";
import { compareEngines } from "./compare-engines.js";
import { pythonEnvironment, skyrlRelease, vllmRelease } from "./python-environments.js";
import type { ServerProcess } from "./server-process.js";
import { startServer } from "./server-process.js";

const [kept] = process.argv.slice(2);
const scratch = await mkdtemp(join(tmpdir(), "heddle-remote-engines-"));
const environments = kept === undefined ? scratch : resolve(kept);
const closing: { close(): Promise<void> }[] = [];
try {
  await mkdir(environments, { recursive: true });
  const installed = await install();
  if (installed) await compare(installed);
} finally {
  for (const each of closing.toReversed()) await each.close();
  await rm(scratch, { recursive: true, force: true });
}

async function install(): Promise<{ skyrl: string; vllm: string } | undefined> {
  try {
    const skyrl = await pythonEnvironment(environments, "skyrl");
    return { skyrl, vllm: await pythonEnvironment(environments, "vllm") };
  } catch (error) {
    console.log(`Remote engines: SKIPPED, ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
}

async function compare(python: { skyrl: string; vllm: string }): Promise<void> {
  const embedded = await openEmbeddedEngine({ models: {} });
  closing.push(embedded);
  const directory = await exportStarter(embedded);
  const model: RemoteModel = {
    name: "heddle/starter",
    directory,
    trainer: {
      model: directory,
      gradientScale: "sequence_mean",
      gradientClipping: false,
      lora: { rank: 8, alpha: 32, targets: [...loraTargets] },
      maxRank: 8,
    },
    inference: { model: "starter" },
  };
  const skyrl = await start({
    title: `SkyRL ${skyrlRelease}`,
    command: (port) => [
      python.skyrl,
      fileURLToPath(new URL("serve-skyrl.py", import.meta.url)),
      directory,
      join(scratch, "server-checkpoints"),
      join(scratch, "tinker.db"),
      String(port),
    ],
    environment: { PYTHONPATH: fileURLToPath(new URL("stand-ins", import.meta.url)) },
    healthPath: "/api/v1/healthz",
  });
  const vllm = await start({
    title: `vLLM ${vllmRelease}`,
    command: (port) => {
      const options = `--host 127.0.0.1 --port ${port} --served-model-name starter --dtype float32 --enforce-eager
        --max-model-len 512 --max-num-seqs 16 --enable-lora --max-lora-rank 8`;
      const server = [python.vllm, "-m", "vllm.entrypoints.openai.api_server", "--model", directory];
      return [...server, ...options.split(/\s+/u)];
    },
    environment: {
      VLLM_ALLOW_RUNTIME_LORA_UPDATING: "True",
      VLLM_CPU_KVCACHE_SPACE: "1",
      VLLM_CPU_OMP_THREADS_BIND: "nobind",
      VLLM_NO_USAGE_STATS: "1",
      OMP_NUM_THREADS: "2",
    },
    healthPath: "/health",
  });
  const trainers = openTinkerTrainers({ url: skyrl.url, models: [model] });
  const sampler = openVllmSampler({ url: vllm.url, models: [model] });
  closing.push(trainers, sampler);
  await compareEngines({ embedded, trainers, sampler, directory: scratch });
}

/** The servers compute in the number format of the weights, so they get the starter in float32. */
async function exportStarter(embedded: TrainingEngine): Promise<string> {
  const trainer = await embedded.openTrainer({ weights: { baseModel: "heddle/starter" }, seed: 1 });
  try {
    const directory = join(scratch, "starter");
    await trainer.exportWeights(directory);
    return directory;
  } finally {
    await trainer.close();
  }
}

async function start(command: Parameters<typeof startServer>[0]): Promise<ServerProcess> {
  const startedAt = Date.now();
  const server = await startServer(command);
  console.log(`${command.title} is ready after ${Math.round((Date.now() - startedAt) / 1000)} s`);
  closing.push(server);
  return server;
}
