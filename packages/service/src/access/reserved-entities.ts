import type { ControlPlane } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";

/**
 * First segments of the paths of the service, which links such as `/{entity}/{project}/weave` must not begin with, and of
 * paths that clients of the interfaces know or that are planned. A test compares the list with the spec and the routes.
 */
export const reservedEntities: ReadonlySet<string> = new Set(
  `agents aliases annotation_queues api artifacts artifactsV2 assets call calls console cost docs evaluations exports
  favicon.ico feedback file files geolocate graphql health image inference keys live login logout me metrics obj objs otel
  packages project projects refs robots.txt server_info service sessions settings shares table tags threads trace traces v1 v2 v3
  version wandb-files webhooks`.split(/\s+/),
);

/** Throws `unprocessable` for an entity that is new and has the name of a path. One that has keys or projects remains. */
export async function checkEntityName(
  { keys, projects }: Pick<ControlPlane, "keys" | "projects">,
  entity: string,
): Promise<void> {
  if (!reservedEntities.has(entity)) return;
  const [known] = (await projects.query({ entity, limit: 1 })).projects;
  if (known !== undefined || (await keys.list(entity)).length > 0) return;
  const message = `a new entity must not be named ${entity}, because paths of the service begin so`;
  throw new HeddleError("unprocessable", message, { loc: ["entity"] });
}
