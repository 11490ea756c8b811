import { randomBytes, randomUUID } from "node:crypto";
import type { PlanOperation } from "./plan.js";
import { exampleRequest } from "./requests.js";
import type { RequestParts } from "./requests.js";

// The examples of the spec are consistent: they are about one project, `acme/demo`, and the same thing has the same id
// in all of them. Under other names they are everything that one project can hold.

/** What the examples name, under other names. */
export interface Tenant {
  projectId: string;
  /** The example request of an operation, for this tenant's ids in a project, by default its own. */
  request(operation: PlanOperation, projectId?: string): RequestParts;
  /** A text of the examples, under the names of this tenant. */
  rename(text: string, projectId?: string): string;
  /** A request body or other value of the examples, under the names of this tenant. */
  renamed<Value>(value: Value, projectId?: string): Value;
  /** Notes which id or digest the server chose where the example response has its own. */
  learn(example: unknown, actual: unknown): void;
  /** Notes which digest replaces the one of the examples. */
  learnDigest(example: string, actual: string): void;
}

const ids = {
  uuid: /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g,
  digest: /\b(?:[0-9a-f]{64}|(?=[0-9A-Za-z]*\d)[0-9A-Za-z]{43})\b/g,
  span: /\b(?:[0-9a-f]{32}|[0-9a-f]{16})\b/g,
};
const objectName = /\bquestions\b/g;

/** Is in all content of a tenant whose requests went through `withSecret`, and in none of its ids. */
export const secret = "only-for-its-owner";

const content =
  /What is a heddle\?|A part of a loom\.|2\+2\?|café|\bhello\b|\bproduction\b|\breviewed\b|(?<="term":")heddle/g;

/** The text of a request with the secret in all its content. */
export function withSecret(text: string): string {
  return text.replace(content, (found) => `${secret} ${found}`);
}

export interface TenantOptions {
  projectId: string;
  /** Also digests are replaced by some that nothing has. */
  isMissing?: boolean;
  /** Applied to every text before its ids are replaced. */
  rewrite?: (text: string) => string;
}

/** Fresh names for everything that the examples name. */
export function createTenant({ projectId, isMissing = false, rewrite = (text) => text }: TenantOptions): Tenant {
  const mark = randomUUID().slice(0, 8);
  const names = new Map<string, string>();
  const digests = new Map<string, string>();
  const name = (found: string) => remembered(names, found, () => similar(found));
  const digest = isMissing
    ? (found: string) => remembered(digests, found, () => similar(found))
    : (found: string) => digests.get(found) ?? found;
  const rename = (text: string, target = projectId) => {
    const [entity = "", project = ""] = target.split("/");
    return rewrite(text)
      .replace(ids.digest, digest)
      .replace(ids.uuid, name)
      .replace(ids.span, name)
      .replace(objectName, `questions-${mark}`)
      .replace(/\bacme\b/g, entity)
      .replace(/\bdemo\b/g, project);
  };
  const tenant: Tenant = {
    projectId,
    rename,
    request: (operation, target) => tenant.renamed(withoutExpectations(exampleRequest(operation)), target),
    renamed: (value, target = projectId) =>
      value === undefined ? value : (JSON.parse(rename(JSON.stringify(value), target)) as typeof value),
    learnDigest: (example, actual) => void digests.set(example, actual),
    learn(example, actual) {
      if (typeof example === "string" && typeof actual === "string") {
        if (example.search(ids.digest) === 0) digests.set(example, actual);
        else if (example.search(ids.uuid) === 0) names.set(example, actual);
      } else if (isObject(example) && isObject(actual)) {
        for (const [key, value] of Object.entries(example)) tenant.learn(value, actual[key]);
      }
    },
  };
  return tenant;
}

/** Makes two responses equal that differ in nothing but ids, digests, names of the examples, secrets of links, times, and what was done in time. */
export function withoutNames(text: string): string {
  return (
    text
      .replace(/\bshare_\w+|(?<=\/exports\/)\w+/g, "<secret>")
      .replace(ids.uuid, "<id>")
      .replace(ids.digest, "<digest>")
      .replace(ids.span, "<id>")
      .replace(/\bquestions-\w+/g, "<name>")
      .replace(/\bconformance-\w+/g, "<project>")
      .replace(/"run_id":"\w+"/g, '"run_id":"<id>"')
      .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<time>")
      .replace(/"created":\d+/g, '"created":<time>')
      // A digest without a digit, one of two thousand, is not such an id.
      .replace(/"digest":"\w{43}"/g, '"digest":"<digest>"')
      // What an earlier request with the same prompt has left.
      .replace(/,"prompt_tokens_details":\{"cached_tokens":\d+\}/g, "")
      .replace(/"complete":(?:true|false)/g, '"complete":<time>')
  );
}

/** `expected_digest` belongs to the content of the example, which a tenant may change. */
function withoutExpectations(parts: RequestParts): RequestParts {
  return JSON.parse(JSON.stringify(parts), (key, value: unknown) =>
    key === "expected_digest" ? undefined : value,
  ) as RequestParts;
}

/** Another id of the same form. */
function similar(id: string): string {
  if (id.includes("-")) return randomUUID();
  if (/^[0-9a-f]+$/.test(id)) return randomBytes(id.length / 2).toString("hex");
  const text = randomBytes(64).toString("base64");
  return `0${text.replace(/[^0-9A-Za-z]/g, "").slice(0, 42)}`;
}

function remembered(names: Map<string, string>, key: string, make: () => string): string {
  const value = names.get(key) ?? make();
  names.set(key, value);
  return value;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
