import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { writeProviders } from "../../test/upstream.js";
import { ConfigError } from "./config-error.js";
import { readConfig } from "./config.js";

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "heddle-providers-"));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const read = (providers: unknown, env: NodeJS.ProcessEnv = {}) =>
  readConfig({ HEDDLE_PROVIDERS: writeProviders(directory, providers), ...env }).providers;

const minimal = { baseUrl: "https://api.example.com/v1", kinds: ["images"] };

test("without a file there is no provider", () => {
  expect(readConfig({}).providers).toEqual([]);
  expect(readConfig({ HEDDLE_PROVIDERS: "" }).providers).toEqual([]);
});

test("a provider has defaults, and a key of its own or of the environment", () => {
  const providers = {
    plain: minimal,
    keyed: { ...minimal, baseUrl: "https://api.example.com/v1/", apiKey: "sk-1", timeoutSeconds: 5 },
    fromEnv: { ...minimal, apiKeyEnv: "EXAMPLE_KEY", models: ["gpt-image-*"] },
    unset: { ...minimal, apiKeyEnv: "OTHER_KEY" },
    local: {
      baseUrl: "http://localhost:8000/v1",
      kinds: ["router-models", "hardware"],
      allowPrivate: true,
      downloadOrigins: ["http://localhost:9000"],
      imageParameters: { response_format: "b64_json" },
    },
  };
  expect(read(providers, { EXAMPLE_KEY: "sk-2" })).toEqual([
    {
      name: "plain",
      baseUrl: "https://api.example.com/v1",
      apiKey: undefined,
      missingKey: undefined,
      kinds: ["images"],
      models: [],
      allowPrivate: false,
      downloadOrigins: [],
      imageParameters: {},
      timeoutMs: 120_000,
    },
    expect.objectContaining({ baseUrl: "https://api.example.com/v1", apiKey: "sk-1", timeoutMs: 5000 }),
    expect.objectContaining({ apiKey: "sk-2", missingKey: undefined, models: ["gpt-image-*"] }),
    expect.objectContaining({ apiKey: undefined, missingKey: "OTHER_KEY" }),
    expect.objectContaining({
      allowPrivate: true,
      downloadOrigins: ["http://localhost:9000"],
      imageParameters: { response_format: "b64_json" },
    }),
  ]);
});

test.each([
  ["{", /is not valid JSON/],
  [[], /must be a JSON object of providers by name/],
  [{ "a/b": minimal }, /"a\/b" must be letters/],
  [{ p: 1 }, /p must be an object/],
  [{ p: { ...minimal, baseURL: "x" } }, /p.baseURL is not known. Known: baseUrl, apiKey/],
  [{ p: { kinds: ["images"] } }, /p.baseUrl must be a URL/],
  [{ p: { ...minimal, baseUrl: "http://api.example.com" } }, /p.baseUrl must be an https URL; http is possible/],
  [{ p: { ...minimal, baseUrl: "ftp://api.example.com", allowPrivate: true } }, /must be an https URL/],
  [{ p: { ...minimal, baseUrl: "https://u:hush@api.example.com" } }, /must not hold a user name or a password/],
  [{ p: { ...minimal, baseUrl: "https://api.example.com/?key=hush" } }, /neither a query nor a fragment/],
  [{ p: { ...minimal, apiKey: "hush\n" } }, /p.apiKey must be text of visible ASCII/],
  [{ p: { ...minimal, apiKey: "hush", apiKeyEnv: "A" } }, /exclude each other/],
  [{ p: { ...minimal, apiKeyEnv: "a b" } }, /p.apiKeyEnv must be the name of an environment variable/],
  [{ p: { baseUrl: minimal.baseUrl } }, /p.kinds must list at least one of images, chat-completions/],
  [{ p: { ...minimal, kinds: ["chat"] } }, /p.kinds must be of images/],
  [{ p: { ...minimal, models: "gpt" } }, /p.models must be a list of texts/],
  [{ p: { ...minimal, allowPrivate: "no" } }, /p.allowPrivate must be true or false/],
  [{ p: { ...minimal, downloadOrigins: ["https://cdn.example.com/x"] } }, /p.downloadOrigins must be origins/],
  [{ p: { ...minimal, imageParameters: [] } }, /p.imageParameters must be an object/],
  [{ p: { ...minimal, timeoutSeconds: 0 } }, /p.timeoutSeconds must be a number above 0/],
])("%j is refused with one clear line that holds no secret", (providers, message) => {
  expect(() => read(providers)).toThrow(ConfigError);
  expect(() => read(providers)).toThrow(message);
  expect(() => read(providers)).not.toThrow(/hush/);
});

test("the environment can hold the JSON itself, which no message repeats", () => {
  const providers = (value: object | string) =>
    readConfig({ HEDDLE_PROVIDERS: typeof value === "string" ? value : JSON.stringify(value) }).providers;
  expect(providers({ p: { ...minimal, apiKey: "sk-1" } })).toMatchObject([{ name: "p", apiKey: "sk-1" }]);
  expect(() => providers({ p: { apiKey: "hush" } })).toThrow(/^HEDDLE_PROVIDERS: p.kinds must list/);
  expect(() => providers('{"p": {"apiKey": "hush"')).toThrow(/^HEDDLE_PROVIDERS: is not valid JSON.$/);
});

test("a file that is missing is refused", () => {
  expect(() => readConfig({ HEDDLE_PROVIDERS: join(directory, "none.json") })).toThrow(/none.json: cannot be read/);
});
