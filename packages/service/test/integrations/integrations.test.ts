import { afterAll, beforeAll, expect, test } from "vitest";
import { openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { install } from "./environments.js";
import type { Installed } from "./environments.js";
import { startModelServer } from "./model-server.js";
import { readIntegrations } from "./pages.js";
import { recordingText } from "./recording-text.js";
import type { RecordedCall } from "./recording-text.js";

// The pages of the documentation about integrations, done as they say: the packages are installed from the registry, the
// settings exported and the program run, against a model of this test. `vitest -u` writes what the pages show of the
// recordings. Those for TypeScript are tested here, `pnpm python-client` tests those for Python.

const uv = process.env["HEDDLE_INTEGRATIONS_UV"];
const language = uv === undefined ? "ts" : "python";
const integrations = readIntegrations().filter((integration) => integration.language === language);

const texts = [
  "What is the weather in Paris?",
  "get_weather",
  "Paris",
  "18 °C in Paris",
  "It is 18 °C in Paris.",
  "What should I wear?",
  "Take a light jacket.",
];

let service: TestService;
let url: string;
beforeAll(async () => {
  service = await openTestService();
  url = await service.listen();
});
afterAll(() => service.close());

const named = integrations.map((integration) => [integration.name, integration] as const);

test.for(named)("%s records what its page shows", { timeout: 400_000 }, async ([name, integration], context) => {
  const { packages, recording } = integration;
  let installed: Installed;
  try {
    installed = await install(integration, uv);
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string };
    console.log(`${name}: SKIPPED, ${packages.join(" ")} cannot be installed: ${stderr || message}`);
    context.skip();
    return;
  }
  const models = await startModelServer();
  try {
    console.log(`${name}: ${packages.join(" ")}`);
    const printed = await installed.run(integration.settings.replaceAll("http://127.0.0.1:4680", url), {
      HEDDLE_API_KEY: service.owner_key,
      OPENAI_API_KEY: "none",
      OPENAI_BASE_URL: models.url,
      OPENAI_API_BASE: models.url,
      WANDB_ERROR_REPORTING: "false",
    });
    expect(printed).toContain("It is 18 °C in Paris.");
    expect(printed).toContain("Take a light jacket.");

    const calls = await recordedCalls(`local/${name}`);
    const { requests, input, output } = models.served;
    const threads = await turnsOfThreads(`local/${name}`);
    const text = recordingText(calls, { texts, threads, usage: { requests, input, output } });
    await expect(text).toMatchFileSnapshot(recording);
    expect(calls.filter(({ exception, ended_at }) => exception !== null || ended_at === null)).toEqual([]);
    expect(await summedUsage(`local/${name}`, calls)).toEqual([
      { input, output },
      { input, output },
    ]);
    expect(service.unexpected).toEqual([]);
  } finally {
    await models.close();
    installed.remove();
  }
});

async function recordedCalls(projectId: string): Promise<RecordedCall[]> {
  const calls: RecordedCall[] = [];
  const query = { project_id: projectId, sort_by: [{ field: "started_at", direction: "asc" as const }] };
  for await (const call of service.tracing().callsQueryStream(query)) calls.push(call);
  return calls;
}

async function turnsOfThreads(projectId: string): Promise<Record<string, number>> {
  const turns: Record<string, number> = {};
  for await (const { thread_id, turn_count } of service.tracing().threadsQueryStream({ project_id: projectId })) {
    turns[thread_id] = turn_count;
  }
  return turns;
}

/** The tokens of the whole project, by both operations that sum them up. */
async function summedUsage(projectId: string, calls: readonly RecordedCall[]) {
  const tracing = service.tracing();
  const roots = calls.filter(({ parent_id }) => parent_id === null).map(({ id }) => id);
  const responses = [
    await tracing.callsUsage({ project_id: projectId, call_ids: roots }),
    await tracing.traceUsage({ project_id: projectId }),
  ];
  return responses.map(({ call_usage }) => {
    const sum = { input: 0, output: 0 };
    for (const usage of roots.flatMap((id) => Object.values(call_usage[id] ?? {}))) {
      sum.input += usage.prompt_tokens ?? 0;
      sum.output += usage.completion_tokens ?? 0;
    }
    return sum;
  });
}
