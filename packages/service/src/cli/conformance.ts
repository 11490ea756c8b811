import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { junitReport, reportTable, runConformance, UnknownOperation, UnusableTarget } from "@heddle/conformance";
import type { ConformanceReport, Progress } from "@heddle/conformance";
import { ConfigError } from "../config/config-error.js";
import { UsageError } from "./command.js";
import type { Command } from "./command.js";

const usage = `heddle conformance BASE_URL [OPTION]...

Judges a server by the specification: sends the examples, requests that do not fit and the stories, and checks every
response. It writes to new projects of one entity, named conformance-…, and to nothing else.

  --api-key KEY        a key with the right admin in the entity (default: the environment variable HEDDLE_API_KEY)
  --other-api-key KEY  a key without any right in the entity (HEDDLE_OTHER_API_KEY); without it, nothing is checked of
                       what such a key gets
  --entity NAME        the entity of the projects (default: local)
  --only NAME          judge this operation, group or interface (tracing, training) only; may be repeated
  --require-all        count operations that respond with 501, and checks that could not be made, as failures
  --timeout SECONDS    how long one response may take (default: 30)
  --junit FILE         write the result as JUnit XML
  --json FILE          write the result as JSON

Exit status: 0 when every check passed, 1 when one failed, 2 when the server could not be judged.`;

export const command: Command = {
  usage: () => usage,
  run: (args, { print }) =>
    conformanceCommand(args, process.env, { print, log: (line) => void process.stderr.write(`${line}\n`) }),
};

const shortUsage = "heddle conformance --help lists the options.";
const quietMs = 5000;

/** Where the command writes: lines of the result to `print`, progress to `log`. */
export interface ConformanceOutput {
  print: (line: string) => void;
  log: (line: string) => void;
}

/** `heddle conformance`. Throws {@link UsageError} when the server cannot be judged, {@link ConfigError} when it fails. */
export async function conformanceCommand(
  args: string[],
  env: NodeJS.ProcessEnv,
  out: ConformanceOutput,
): Promise<void> {
  const { baseUrl, values } = readArguments(args);
  const apiKey = values["api-key"] ?? env["HEDDLE_API_KEY"];
  if (!apiKey) throw new UsageError("a key is needed: --api-key, or HEDDLE_API_KEY", shortUsage);
  const report = await judge(() =>
    runConformance({
      baseUrl,
      apiKey,
      otherApiKey: values["other-api-key"] ?? env["HEDDLE_OTHER_API_KEY"],
      entity: values.entity,
      only: values.only,
      timeoutMs: secondsOf(values.timeout) * 1000,
      onProgress: progressTo(out.log),
    }),
  );
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(report, undefined, 2)}\n`);
  if (values.junit !== undefined) writeFileSync(values.junit, junitReport(report));
  out.print(reportTable(report));
  const failure = failureOf(report, values["require-all"]);
  if (failure !== undefined) throw new ConfigError(failure);
}

async function judge(run: () => Promise<ConformanceReport>): Promise<ConformanceReport> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof UnknownOperation || error instanceof UnusableTarget)
      throw new UsageError(error.message, shortUsage);
    throw error;
  }
}

function failureOf({ summary }: ConformanceReport, requireAll: boolean): string | undefined {
  if (summary.failed > 0) return `${summary.failed} operations do not conform to the specification`;
  if (!requireAll || summary.not_implemented + summary.checks_skipped === 0) return undefined;
  return `${summary.not_implemented} operations are not implemented, ${summary.checks_skipped} checks could not be made`;
}

/** One line when the projects are filled, and then at most one in some seconds. */
function progressTo(log: (line: string) => void): (progress: Progress) => void {
  let last = 0;
  return ({ done, total, operation }) => {
    if (operation === undefined) {
      log(`filling projects for ${total} operations`);
      last = Date.now();
    } else if (Date.now() - last >= quietMs) {
      log(`${done} of ${total} operations judged, the latest ${operation.operation}`);
      last = Date.now();
    }
  };
}

function secondsOf(text: string): number {
  const seconds = Number(text);
  if (Number.isInteger(seconds) && seconds >= 1 && seconds <= 3600) return seconds;
  throw new UsageError(`--timeout must be whole seconds from 1 to 3600, not "${text}"`, shortUsage);
}

function readArguments(args: string[]) {
  try {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        "api-key": { type: "string" },
        "other-api-key": { type: "string" },
        entity: { type: "string", default: "local" },
        only: { type: "string", multiple: true },
        "require-all": { type: "boolean", default: false },
        timeout: { type: "string", default: "30" },
        junit: { type: "string" },
        json: { type: "string" },
      },
    });
    const [baseUrl = "", ...more] = positionals;
    if (!/^https?:$/.test(URL.canParse(baseUrl) ? new URL(baseUrl).protocol : "") || more.length > 0)
      throw new TypeError("one address of a server is needed, as http://127.0.0.1:4680");
    return { baseUrl, values };
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), shortUsage);
  }
}
