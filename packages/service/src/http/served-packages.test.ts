import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { HttpRequest } from "@heddle/server-stub";
import { Problem } from "@heddle/server-stub";
import { afterAll, beforeAll, expect, test } from "vitest";
import { packagesRoute } from "./served-packages.js";

const packagesDir = mkdtempSync(join(tmpdir(), "heddle-packages-"));
const packed = {
  name: "@heddle/client",
  version: "1.2.3",
  description: "Calls <anything> & more",
  file: "client.tgz",
  size: 1500,
  integrity: "sha512-abc",
};
beforeAll(() => {
  writeFileSync(join(packagesDir, "packages.json"), JSON.stringify([packed]));
  writeFileSync(join(packagesDir, "client.tgz"), "tarball");
});
afterAll(() => rmSync(packagesDir, { recursive: true }));

async function get(file: string | undefined, directory = packagesDir, publicUrl?: string) {
  const handle = packagesRoute.open({ services: { config: { publicUrl } }, packagesDir: directory })!;
  const headers: Record<string, string> = { host: "heddle.example.com:4680" };
  const http = { method: "HEAD", target: "", header: (name: string) => headers[name] } as unknown as HttpRequest;
  const {
    status,
    headers: sent,
    body,
  } = await handle({ http, params: file === undefined ? {} : { file }, turn: async () => {} });
  return { status, headers: sent, text: typeof body === "string" ? body : undefined };
}

test("the page has the line that installs each package from where it was read, and no text as markup", async () => {
  const { text, headers } = await get("");
  expect(headers).toMatchObject({ "content-type": "text/html; charset=utf-8", "cache-control": "no-cache" });
  expect(text).toContain("<pre>npm install http://heddle.example.com:4680/packages/client.tgz</pre>");
  expect(text).toContain("@heddle/client 1.2.3</h2>\n<p>Calls &lt;anything&gt; &amp; more (");
});

test("programs get the same with the address that the settings name, and how to check the tarball", async () => {
  const { text } = await get("index.json", packagesDir, "https://example.com/heddle");
  const { file: _, ...known } = packed;
  const tarball = "https://example.com/heddle/packages/client.tgz";
  expect(JSON.parse(text!)).toEqual({ packages: [{ ...known, tarball }] });
});

test("a package is sent as the archive that it is", async () => {
  expect(await get("client.tgz")).toMatchObject({
    status: 200,
    headers: { "content-type": "application/gzip", "content-length": "7" },
  });
});

test("the directory without its slash leads to the one with it", async () => {
  expect(await get(undefined)).toMatchObject({ status: 308, headers: { location: "packages/" } });
});

test.each(["packages.json", "../client.tgz", "server.tgz", "client.tgz/"])(
  "%s is not there, and what is, is named",
  async (file) => {
    const error: unknown = await get(file).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ status: 404, message: expect.stringMatching(/there are client\.tgz/) });
  },
);

test("a service that was not built says what to do", async () => {
  for (const file of [undefined, "", "client.tgz"]) {
    const error: unknown = await get(file, join(packagesDir, "none")).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Problem);
    expect(error).toMatchObject({ status: 404, message: expect.stringContaining("run `pnpm build`") });
  }
});
