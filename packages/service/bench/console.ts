/**
 * The console in Chromium over the built service: `packages/console/test/frames.ts` on a project of many calls, which the engine
 * multiplies.
 *
 *   pnpm build && node --import tsx -C @heddle/source packages/service/bench/console.ts [--calls 100000] [--parts calls,trace]
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { multiplyCalls } from "./multiply-calls.js";
import { describeMachine, option, text } from "./results.js";
import { startServiceProcess } from "./service-process.js";

const frames = fileURLToPath(new URL("../../console/test/frames.ts", import.meta.url));
const project = "local/many";
const parts = text("parts", "").split(",").filter(Boolean);

console.log(describeMachine());
const service = await startServiceProcess();
await multiplyCalls(service, project, option("calls", 100_000));
const measured = spawn(process.execPath, ["--import", "tsx", "-C", "@heddle/source", frames, service.url, ...parts], {
  stdio: "inherit",
  env: { ...process.env, HEDDLE_API_KEY: service.key, HEDDLE_PROJECT: project },
});
await once(measured, "exit");
console.log(describeMachine());
await service.stop();
process.exit(measured.exitCode ?? 1);
