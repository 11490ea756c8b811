import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { UrlSignatures } from "@heddle/control-plane";
import { expect, onTestFinished, test } from "vitest";
import { adapterRepository, readAdapterRepository } from "./adapter-addresses.js";

const sign = (keyId: string, text: string) =>
  createHash("sha256").update(`secret ${keyId} ${text}`).digest("base64url");
const signatures: UrlSignatures = { sign, verify: (keyId, text, signature) => sign(keyId, text) === signature };
const minute = 60_000;

test("an address is of these files alone, ends with its time, and cannot be made by others", async () => {
  const directory = await mkdtemp(join(tmpdir(), "heddle-adapter-"));
  onTestFinished(async () => await rm(directory, { recursive: true }));
  await writeFile(join(directory, "adapter_config.json"), "{}");
  await writeFile(join(directory, "adapter_model.safetensors"), "weights");
  const repository = await adapterRepository(signatures, directory, 0);
  // As hub clients check it.
  expect(repository).toMatch(/^\b[\w.-]{1,96}\b\/\b[\w.-]{1,96}\b$/u);
  expect(repository).not.toMatch(/--|\.\.|\.git$/u);
  expect(`models--${repository.replace("/", "--")}`.length).toBeLessThan(255);
  expect(await adapterRepository(signatures, directory, 9 * minute)).toBe(repository);
  const digest = (text: string) => createHash("sha256").update(text).digest("hex");
  expect([...readAdapterRepository(signatures, repository, 20 * minute)]).toEqual([
    ["adapter_config.json", digest("{}")],
    ["adapter_model.safetensors", digest("weights")],
  ]);
  const refused = (other: string, now = minute) =>
    expect(() => readAdapterRepository(signatures, other, now)).toThrow(expect.objectContaining({ code: "forbidden" }));
  refused(repository, 20 * minute + 1);
  const others = digest("others");
  refused(digest("{}") + others.slice(0, 32) + repository.slice(96));
  const [digests = "", end = "", signature = ""] = repository.split(".");
  refused(`${digests}.${(Number.parseInt(end, 36) + 1).toString(36)}.${signature}`);
  refused(`${digests}.${end}.${signature.slice(0, -1)}`);
  refused(`${digests}.${end}.${signature}0`);
  for (const wrong of ["", "a/b", digests, `${digests}.${end}`, `${digests}..${signature}`]) refused(wrong);
});
