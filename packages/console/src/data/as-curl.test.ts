import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { asCurl } from "./as-curl.js";

test("a shell reads the body as it is sent, whatever is in it", () => {
  const body = { project_id: "a/b", search: { text: `it's "$HOME" \`id\` \\ \n é` } };
  const command = asCurl("http://127.0.0.1:4680", "/calls/page", body);
  const seen = execFileSync("bash", ["-c", `curl() { printf '%s' "$5"; }; HEDDLE_API_KEY=k; ${command}`]);
  expect(JSON.parse(seen.toString())).toEqual(body);
});
