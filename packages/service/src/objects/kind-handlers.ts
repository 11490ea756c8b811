import type { Caller, ControlPlane } from "@heddle/control-plane";
import type { StoredObject } from "@heddle/trace-store";
import { internalProjects } from "../wire/internal-refs.js";
import { projectOfPath } from "../wire/project-of-path.js";
import type { ObjectKind } from "./object-kind.js";
import type { ObjectStores } from "./object-stores.js";
import { ProjectWriter } from "./project-writer.js";
import { readSources } from "./read-sources.js";

interface InProject {
  entity: string;
  project: string;
}

type OfVersion = InProject & { object_id: string; digest: string };

/** The four operations of a kind of object. */
export function kindHandlers<Body, Created, Shown>(
  services: ObjectStores & { control: ControlPlane },
  kind: ObjectKind<Body, Created, Shown>,
) {
  const { control, store } = services;
  const { among, latest_only } = kind;

  async function* shown(projectId: string, objects: readonly StoredObject[]): AsyncGenerator<Shown> {
    const sourceOf = async (object: StoredObject) => await kind.sourceOf?.(store, object);
    for await (const { object, source } of readSources(services, projectId, objects, sourceOf)) {
      yield kind.show(object, source);
    }
  }

  const create = async ({ params, body }: { params: InProject; body: Body }, caller: Caller): Promise<Created> => {
    const projectOf = await internalProjects(control, caller, body);
    const writer = new ProjectWriter(services, projectOfPath(params), { projectOf, userId: caller.user_id });
    return await kind.create(writer, body, store);
  };

  async function* list({ params, query }: { params: InProject; query: { limit?: number; offset?: number } }) {
    const projectId = projectOfPath(params);
    const filter = { is_op: among.kind === "op", base_object_classes: among.base_classes?.slice(), latest_only };
    yield* shown(projectId, await store.objects.query({ project_id: projectId, filter, ...query }));
  }

  const read = async ({ params }: { params: OfVersion }): Promise<Shown> => {
    const projectId = projectOfPath(params);
    const { object_id, digest } = params;
    const object = await store.objects.read({ project_id: projectId, object_id, digest }, { among });
    for await (const version of shown(projectId, [object])) return version;
    throw new Error("each object is shown once");
  };

  const remove = async ({ params, query }: { params: Omit<OfVersion, "digest">; query: { digests?: string[] } }) => {
    const request = { project_id: projectOfPath(params), object_id: params.object_id, digests: query.digests };
    const { num_deleted } = await store.objects.delete(request, among);
    return { num_deleted };
  };

  return { create, list, read, remove };
}
