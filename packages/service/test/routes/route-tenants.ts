import { createHash, randomUUID } from "node:crypto";
import { storeContent } from "../../src/artifacts/store-content.js";
import { encodeId } from "../../src/wandb/ids.js";
import { secret } from "../isolation/tenants.js";
import type { TestService } from "../test-service.js";

/** What the samples of the routes name: a project with a run, an artifact, and one that is announced. */
export interface RouteTenant {
  entity: string;
  project: string;
  run: string;
  collection: string;
  /** A UUID each. */
  version: string;
  draft: string;
  /** Base64 of the MD5 of a content that is sent, and of one that is not. */
  md5: string;
  missingMd5: string;
  /** In whose name URLs are signed. */
  keyId: string;
}

export const fileName = "train.jsonl";
const md5Of = (text: string) => createHash("md5").update(text).digest("base64");

/** Names that nothing has. */
export function missingTenant(projectId: string, keyId: string): RouteTenant {
  const [entity = "", project = ""] = projectId.split("/");
  const mark = randomUUID().slice(0, 8);
  return {
    entity,
    project,
    run: `run-${mark}`,
    collection: `data-${mark}`,
    version: randomUUID(),
    draft: randomUUID(),
    md5: md5Of(`content ${mark}`),
    missingMd5: md5Of(`other ${mark}`),
    keyId,
  };
}

/** A project that holds what its names name, with the secret in all of it. */
export async function routeTenant({ services }: TestService, projectId: string, keyId: string): Promise<RouteTenant> {
  const tenant = missingTenant(projectId, keyId);
  const { control } = services;
  const named = { project_id: projectId, created_by: "ann" };
  await control.projects.ensure(tenant.entity, tenant.project);
  const run = { ...named, name: tenant.run };
  await control.trackingRuns.upsert(run, { config: `{"a":"${secret}"}`, summary: `{"b":"${secret}"}`, notes: secret });
  await control.trackingRuns.writeHistory(run, 0, [`{"loss":"${secret}"}`]);
  const text = `${secret} ${tenant.collection}`;
  const content = await storeContent(services, projectId, bytesOf(text));
  const fields = { name: tenant.collection, type: "dataset", description: secret, metadata: `{"c":"${secret}"}` };
  const files = [{ path: fileName, sha256: content.sha256 }];
  const { version } = await control.artifacts.commit({ ...named, ...fields, files, aliases: ["best"] });
  const draft = await control.artifacts.drafts.add(named, { ...fields, aliases: ["next"] });
  const md5 = Buffer.from(content.md5, "hex").toString("base64");
  const entry = { digest: md5, size: content.size_bytes };
  await control.artifacts.drafts.setManifest(draft.id, JSON.stringify({ contents: { [fileName]: entry } }));
  return { ...tenant, version: version.id, draft: draft.id, md5 };
}

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(text);
}

export const idsOf = ({ version, draft }: RouteTenant) => ({
  version: encodeId("Artifact", version),
  draft: encodeId("Artifact", draft),
  manifest: encodeId("ArtifactManifest", draft),
});

/** Makes two texts equal that differ in nothing but the names of their tenants. */
export function withoutTenant(text: string, tenant: RouteTenant): string {
  const names = [...Object.entries(tenant), ...Object.entries(idsOf(tenant))];
  return names
    .toSorted(([, a], [, b]) => (b as string).length - (a as string).length)
    .reduce((rest, [name, value]) => rest.replaceAll(value as string, `<${name}>`), text);
}
