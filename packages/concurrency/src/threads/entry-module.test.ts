import { afterEach, expect, test, vi } from "vitest";
import { entryModule } from "./entry-module.js";

afterEach(() => vi.unstubAllEnvs());

const source = new URL("file:///repository/packages/chat-format/src/jinja/worker.ts");

test("a module of a package is started from the compiled packages that the environment names", () => {
  vi.stubEnv("HEDDLE_COMPILED", "/tmp/with space/node_modules");
  const url = new URL("file:///tmp/with%20space/node_modules/@heddle/chat-format/dist/jinja/worker.js");
  expect(entryModule(source)).toEqual({ url, execArgv: [] });
  const outside = new URL("file:///repository/packages/chat-format/test/worker.ts");
  expect(entryModule(outside)).toMatchObject({ url: outside });
});

test("without them it is started from source, through tsx", () => {
  vi.stubEnv("HEDDLE_COMPILED", "");
  const { url, execArgv } = entryModule(source);
  expect(url).toEqual(source);
  expect(execArgv).toEqual(["--conditions", "@heddle/source", "--import", expect.stringMatching(/^file:.*tsx/)]);
});
