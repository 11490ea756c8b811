import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { chatRequestOf, replayAsCurl, replayAsTypeScript } from "./replay.js";

const inputs = `{"self": null, "model": "m", "messages": [{"role": "user", "content": "it's \\"$HOME\\" \`x\`"}], "temperature": 1.0, "seed": 107505301260286111, "stop": null}`;

test("a chat completion is sent as it was, without what programs add", () => {
  expect(chatRequestOf(inputs)).toBe(
    `{"model":"m","messages":[{"role": "user", "content": "it's \\"$HOME\\" \`x\`"}],"temperature":1.0,"seed":107505301260286111}`,
  );
  expect(chatRequestOf('{"question":"x"}')).toBeUndefined();
});

test("a shell and a program send the same bytes", () => {
  const body = chatRequestOf(inputs) ?? "";
  const curl = replayAsCurl("http://127.0.0.1:4680", body);
  const seen = execFileSync("bash", ["-c", `curl() { printf '%s' "\${@: -1}"; }; HEDDLE_API_KEY=k; ${curl}`]);
  expect(seen.toString()).toBe(body);
  const program = replayAsTypeScript("http://127.0.0.1:4680", body);
  const fetched = `globalThis.fetch = (_, { body }) => { process.stdout.write(body); process.exit(0); };\n${program}`;
  expect(execFileSync(process.execPath, ["--input-type=module", "-e", fetched]).toString()).toBe(body);
});
