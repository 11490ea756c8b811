import { mkdirSync, mkdtempSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openControlPlane } from "@heddle/control-plane";
import { afterAll, expect, test } from "vitest";
import { controlPlaneUrl, readConfig } from "../config/config.js";
import { printLogInLink } from "./open.js";

const directory = mkdtempSync(join(tmpdir(), "heddle-open-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

async function open(env: Record<string, string> = {}): Promise<string> {
  const lines: string[] = [];
  await printLogInLink(readConfig({ HEDDLE_DATA_DIR: directory, ...env }), (line) => lines.push(line));
  return lines.join("\n");
}

test("a directory that no service has used is refused", async () => {
  await expect(open()).rejects.toThrow("has no owner key, because no service has used it");
});

test("a key that cannot be read is not called a missing one", async () => {
  const file = join(directory, "api-key");
  mkdirSync(file);
  await expect(open()).rejects.toThrow(/the owner key cannot be read: EISDIR.* Make .*api-key readable/);
  rmdirSync(file);
});

test("a service without a console is refused", async () => {
  await expect(open({ HEDDLE_CONSOLE: "off" })).rejects.toThrow("HEDDLE_CONSOLE is off");
});

test("the link logs the owner in once", async () => {
  const secret = "k".repeat(40);
  writeFileSync(join(directory, "api-key"), `${secret}\n`);
  const link = await open();
  expect(link).toMatch(/^http:\/\/127\.0\.0\.1:4680\/console\/login#[A-Za-z0-9]{40}$/);
  const config = readConfig({ HEDDLE_DATA_DIR: directory });
  const owner = { secret, entity: config.defaultEntity };
  const control = await openControlPlane({ url: controlPlaneUrl(config), owner });
  try {
    const code = link.slice(link.indexOf("#") + 1);
    expect((await control.sessions.redeemCode(code)).caller).toMatchObject({ owner: true });
    expect((await control.sessions.redeemCode(code)).caller).toBeUndefined();
  } finally {
    await control.close();
  }
});

test("the link names the address that a browser reaches", async () => {
  expect(await open({ HEDDLE_HOST: "0.0.0.0", HEDDLE_PORT: "80" })).toContain("http://127.0.0.1:80/console/login#");
  expect(await open({ HEDDLE_HOST: "::1" })).toContain("http://[::1]:4680/");
  expect(await open({ HEDDLE_PUBLIC_URL: "https://example.com/heddle" })).toContain(
    "https://example.com/heddle/console",
  );
  await expect(open({ HEDDLE_PORT: "0" })).rejects.toThrow("Set HEDDLE_PUBLIC_URL");
});
